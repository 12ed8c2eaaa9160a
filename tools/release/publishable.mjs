// Copies what a package publishes, with a manifest that is not private: node publishable.mjs FROM TO
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const [from = '', to = ''] = process.argv.slice(2)
const {
  private: _private,
  devDependencies: _dev,
  scripts: _scripts,
  nx: _nx,
  ...manifest
} = JSON.parse(readFileSync(path.join(from, 'package.json'), 'utf8'))
mkdirSync(to, { recursive: true })
writeFileSync(path.join(to, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
for (const file of [...manifest.files, 'README.md']) cpSync(path.join(from, file), path.join(to, file))
