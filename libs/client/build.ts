// Builds the npm package @waymark/client in dist/, ready for `npm publish libs/client/dist`.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { build } from 'vite'
import manifest from './package.json' with { type: 'json' }

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const { name, version, description, license, type, dependencies } = manifest

rmSync(dist, { recursive: true, force: true })
await import('./generate.ts')
await build({
  configFile: false,
  logLevel: 'warn',
  root: here,
  ssr: { external: Object.keys(dependencies), noExternal: true },
  build: { ssr: 'src/index.ts', outDir: dist, target: 'node22' },
})

const entry = path.join(here, 'src/index.ts')
const program = ts.createProgram([entry], {
  declaration: true,
  emitDeclarationOnly: true,
  allowImportingTsExtensions: true,
  rewriteRelativeImportExtensions: true,
  skipLibCheck: true,
  strict: true,
  target: ts.ScriptTarget.ES2024,
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  rootDir: path.join(here, 'src'),
  outDir: dist,
})
const { diagnostics } = program.emit()
if (diagnostics.length > 0) throw new Error(ts.formatDiagnostics(diagnostics, ts.createCompilerHost({})))
mkdirSync(path.join(dist, 'generated'), { recursive: true })
copyFileSync(path.join(here, 'src/generated/api.d.ts'), path.join(dist, 'generated/api.d.ts'))

for (const [from, to] of [
  ['README.md', 'README.md'],
  ['../../LICENSE', 'LICENSE'],
] as const)
  copyFileSync(path.join(here, from), path.join(dist, to))
const published = {
  name,
  version,
  description,
  license,
  type,
  engines: { node: '>=22' },
  exports: { types: './index.d.ts', default: './index.js' },
  dependencies,
}
writeFileSync(path.join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
