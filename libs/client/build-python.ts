// Builds the Python package waymark-client in python/dist/, ready for `twine upload libs/client/python/dist/*.whl`. Needs
// Python 3.11 or newer with venv.
import { execFileSync } from 'node:child_process'
import { appendFileSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { openApiDocument } from '@waymark/contracts/http/openapi'
import { operations } from '@waymark/contracts/http/operations'
import manifest from './package.json' with { type: 'json' }
import { REPEATABLE, WITH_EVENTS, WITH_IDEMPOTENCY_KEY } from './src/repeatable.ts'

const here = import.meta.dirname
const dist = path.join(here, 'python/dist')
const project = path.join(dist, 'package')
const module = path.join(project, 'waymark_client')
const python = path.join(dist, 'venv/bin/python')
const run = (command: string, args: string[]): void =>
  void execFileSync(command, args, { cwd: dist, stdio: 'inherit' })

rmSync(dist, { recursive: true, force: true })
mkdirSync(dist)
run('python3', ['-m', 'venv', 'venv'])
run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', path.join(here, 'python/requirements.txt')])

// The pages for browsers are no part of a client.
const forPrograms = operations.filter(({ tag }) => tag !== 'Documentation')
writeFileSync(path.join(dist, 'openapi.json'), JSON.stringify(openApiDocument(forPrograms, manifest.version)))
const config = {
  project_name_override: 'waymark-client',
  package_name_override: 'waymark_client',
  package_version_override: manifest.version,
  // Generated code is not committed, so nothing formats it.
  post_hooks: [],
}
writeFileSync(path.join(dist, 'config.yaml'), JSON.stringify(config))
run(path.join(dist, 'venv/bin/openapi-python-client'), [
  'generate',
  '--path',
  'openapi.json',
  '--config',
  'config.yaml',
  '--meta',
  'setup',
  '--output-path',
  project,
])

const tuples = (names: ReadonlySet<string>): string =>
  [...names]
    .map(
      (name) =>
        `    (${name
          .split(' ')
          .map((part) => JSON.stringify(part))
          .join(', ')}),\n`,
    )
    .join('')
writeFileSync(
  path.join(module, '_operations.py'),
  [
    '"""Operations that need more than their description says, by method and path."""\n\n',
    `REPEATABLE = (\n${tuples(REPEATABLE)})\n`,
    `WITH_EVENTS = (\n${tuples(WITH_EVENTS)})\n`,
    `WITH_IDEMPOTENCY_KEY = (\n${tuples(WITH_IDEMPOTENCY_KEY)})\n`,
  ].join(''),
)
copyFileSync(path.join(here, 'python/connect.py'), path.join(module, 'connect.py'))
copyFileSync(path.join(here, 'python/README.md'), path.join(project, 'README.md'))
copyFileSync(path.join(here, '../../LICENSE'), path.join(project, 'LICENSE'))
appendFileSync(
  path.join(module, '__init__.py'),
  '\nfrom .connect import ApiError, FieldProblem, connect\n\n__all__ += ("ApiError", "FieldProblem", "connect")\n',
)
run(python, ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', dist, project])
