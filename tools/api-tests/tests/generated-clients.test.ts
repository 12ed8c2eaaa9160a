import { spawnSync } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually, freePort, startProcess } from '@waymark/testing'
import openapiTS, { astToString } from 'openapi-typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const MAIN = path.join(ROOT, 'apps/standalone/src/main.ts')
const PROGRAMS = path.join(import.meta.dirname, 'generated-clients')

// The oldest version that openapi-python-client supports.
const USABLE_PYTHON = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'
const hasPython = spawnSync('python3', ['-c', USABLE_PYTHON]).status === 0
const MISSING = 'python3 3.11 or newer with venv is missing'
if (!hasPython && process.env.CI) throw new Error(`${MISSING}, and in CI no test may be left out`)
if (!hasPython) process.stdout.write(`${MISSING}: the test of a generated Python client is left out.\n`)

/** Runs a command to its end. @throws Error with its output when it fails */
const run = async (command: string, args: readonly string[], cwd: string): Promise<string> => {
  const { stdout, output, ended } = startProcess(command, args, { cwd, env: process.env })
  const code = await ended
  if (code !== 0) throw new Error(`${[command, ...args].join(' ')} ended with ${code}:\n${output()}`)
  return stdout()
}

type Demo = { apiKey: string; projectId: string }

// Generating and compiling hundreds of modules takes long on a busy machine.
describe('a client generated from the document', { timeout: 600_000 }, () => {
  let folder: string
  let stop: () => Promise<void>
  let baseUrl: string
  let demo: Demo
  let document: string

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-clients-'))
    await chmod(folder, 0o755)
    const dataDir = path.join(folder, 'data')
    await mkdir(dataDir)
    const port = await freePort()
    const server = startProcess(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH, WAYMARK_DATA_DIR: dataDir, PORT: `${port}`, METRICS_PORT: '0' },
    })
    stop = async () => {
      server.child.kill('SIGTERM')
      await server.ended
    }
    await eventually('it greets', () => server.stdout().includes('Waymark answers on'))
    baseUrl = `http://localhost:${port}`
    demo = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo
    document = await (await fetch(`${baseUrl}/openapi.json`)).text()
  })
  afterAll(async () => {
    await stop?.()
    await rm(folder, { recursive: true, force: true })
  })

  const programArguments = () => [baseUrl, demo.apiKey, demo.projectId]

  it('compiles in TypeScript, and sends', async () => {
    const cwd = path.join(folder, 'typescript')
    await mkdir(cwd)
    await symlink(path.join(ROOT, 'node_modules'), path.join(cwd, 'node_modules'))
    await writeFile(path.join(cwd, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(path.join(cwd, 'api.d.ts'), astToString(await openapiTS(document)))
    await copyFile(path.join(PROGRAMS, 'program.mts.txt'), path.join(cwd, 'program.mts'))
    const compilerOptions = {
      strict: true,
      noUncheckedIndexedAccess: true,
      target: 'es2023',
      lib: ['es2023', 'dom', 'dom.iterable'],
      module: 'nodenext',
      types: ['node'],
      outDir: 'out',
    }
    await writeFile(
      path.join(cwd, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['api.d.ts', 'program.mts'] }),
    )
    await run(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '--project', cwd], cwd)
    const output = await run(process.execPath, ['out/program.mjs', ...programArguments()], cwd)
    expect(JSON.parse(output)).toEqual({
      accepted: 1,
      identified: 200,
      created: 'defined_by_typescript',
      listed: [{ eventName: 'sent_by_typescript', properties: { a: 1 } }],
      refused: 400,
    })
  })

  it.skipIf(!hasPython)('is a package in Python whose modules all load, and sends', async () => {
    const cwd = path.join(folder, 'python')
    await mkdir(cwd)
    await writeFile(path.join(cwd, 'openapi.json'), document)
    await copyFile(path.join(PROGRAMS, 'program.py'), path.join(cwd, 'program.py'))
    await run('python3', ['-m', 'venv', 'venv'], cwd)
    const python = path.join(cwd, 'venv/bin/python')
    const requirements = path.join(PROGRAMS, 'requirements.txt')
    await run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], cwd)
    const generate = [
      'generate',
      '--path',
      'openapi.json',
      '--meta',
      'none',
      '--output-path',
      'waymark_client',
    ]
    await run(path.join(cwd, 'venv/bin/openapi-python-client'), generate, cwd)
    const output = await run(python, ['program.py', ...programArguments()], cwd)
    expect(JSON.parse(output)).toEqual({
      accepted: 1,
      created: 'defined_by_python',
      listed: [{ eventName: 'sent_by_python', properties: { a: 1 } }],
    })
  })
})
