// Builds the npm package waymark in dist/, ready for `npm publish apps/cli/dist`.
import { chmodSync, copyFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'vite'
import manifest from './package.json' with { type: 'json' }

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const { version, description, license, type, dependencies: all } = manifest
// Packages of this repository are part of the bundle.
const dependencies = Object.fromEntries(Object.entries(all).filter(([name]) => !name.startsWith('@waymark/')))

rmSync(dist, { recursive: true, force: true })
await build({
  configFile: false,
  logLevel: 'warn',
  root: here,
  ssr: { external: Object.keys(dependencies), noExternal: true },
  build: { ssr: 'src/main.ts', outDir: dist, target: 'node22' },
})
chmodSync(path.join(dist, 'main.js'), 0o755)
for (const [from, to] of [
  ['../../docs/cli.md', 'README.md'],
  ['../../LICENSE', 'LICENSE'],
] as const)
  copyFileSync(path.join(here, from), path.join(dist, to))
const published = {
  name: 'waymark',
  version,
  description,
  license,
  type,
  engines: { node: '>=22' },
  bin: { waymark: './main.js' },
  dependencies,
}
writeFileSync(path.join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
