// Builds the console, unless what is built is up to date. Plain JavaScript, because it runs from npm's postinstall,
// where an older node may be first on PATH.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { brotliCompressSync } from 'node:zlib'

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const stamp = path.join(dist, '.sources')

const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/]generated[\\/]|\.test\.ts$/.test(file))
    .sort()

const sources = [
  ...['src', 'public', '../../libs/contracts/src', '../../libs/domain/src/table'].flatMap((folder) =>
    filesBelow(path.join(here, folder)),
  ),
  ...['index.html', 'package.json', 'vite.config.ts', 'generate.ts', 'build.mjs'].map((file) =>
    path.join(here, file),
  ),
]

const hashSources = () => {
  const hash = createHash('sha256')
  for (const file of sources) hash.update(path.relative(here, file)).update('\0').update(readFileSync(file))
  return hash.digest('hex')
}

const isInstalled = () => existsSync(path.join(here, '../../node_modules/@vitejs/plugin-react'))

const build = async () => {
  execFileSync(process.execPath, [path.join(here, 'generate.ts')], { stdio: 'inherit' })
  const vite = await import('vite')
  await vite.build({ configFile: path.join(here, 'vite.config.ts'), logLevel: 'warn' })
  for (const file of filesBelow(dist).filter((name) => /\.(?:js|css|svg|html)$/.test(name)))
    writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)))
}

const hash = hashSources()
if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) process.exit()
if (!isInstalled()) {
  process.stderr.write('The console was not built: its dev dependencies are missing.\n')
  process.exit()
}
await build()
writeFileSync(stamp, hash)
