// Builds the script and the module, unless they are up to date. Plain JavaScript, because it runs from npm's
// postinstall, where an older node may be first on PATH.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const stamp = path.join(dist, '.sources')

const sources = readdirSync(path.join(here, 'src'))
  .filter((name) => !name.endsWith('.test.ts'))
  .sort()
  .map((name) => path.join(here, 'src', name))

const hashSources = () => {
  const hash = createHash('sha256')
  for (const file of [...sources, ...['build.mjs', 'package.json'].map((name) => path.join(here, name))])
    hash.update(path.relative(here, file)).update('\0').update(readFileSync(file))
  return hash.digest('hex')
}

const bundle = async (entry, format, name) => {
  const { build } = await import('vite')
  await build({
    configFile: false,
    logLevel: 'warn',
    root: here,
    build: {
      target: 'es2020',
      outDir: dist,
      emptyOutDir: false,
      minify: 'oxc',
      lib: { entry: path.join(here, 'src', entry), formats: [format], name: 'wm', fileName: () => name },
    },
  })
}

/** The types of the module, which are all in `types.ts`. */
const writeTypes = async () => {
  const { default: ts } = await import('typescript')
  const declare = (name) =>
    ts.transpileDeclaration(readFileSync(path.join(here, 'src', name), 'utf8'), { fileName: name }).outputText
  const exported = declare('index.ts').replace(/from '\.\/types\.ts'/g, "from './types.js'")
  writeFileSync(path.join(dist, 'index.d.ts'), exported)
  writeFileSync(path.join(dist, 'types.d.ts'), declare('types.ts'))
}

const isInstalled = () => existsSync(path.join(here, '../../node_modules/vite'))

const hash = hashSources()
if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) process.exit()
if (!isInstalled()) {
  process.stderr.write('The browser script was not built: its dev dependencies are missing.\n')
  process.exit()
}
mkdirSync(dist, { recursive: true })
await bundle('script.ts', 'iife', 'w.js')
await bundle('index.ts', 'es', 'index.js')
await writeTypes()
writeFileSync(stamp, hash)
