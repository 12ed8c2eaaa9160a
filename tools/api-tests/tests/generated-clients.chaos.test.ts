import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Constellation, ROOT, runCommand, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programArguments } from './generated-clients/program-arguments.ts'

const PROGRAMS = path.join(import.meta.dirname, 'generated-clients')

// The oldest version that openapi-python-client supports.
const USABLE_PYTHON = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'
const hasPython = spawnSync('python3', ['-c', USABLE_PYTHON]).status === 0
const MISSING = 'python3 3.11 or newer with venv is missing'
if (!hasPython && process.env.CI) throw new Error(`${MISSING}, and in CI no test may be left out`)
if (!hasPython) process.stdout.write(`${MISSING}: the test of a generated Python client is left out.\n`)

// Generating and loading hundreds of modules takes long on a busy machine.
describe('a client generated from the document', { timeout: 600_000 }, () => {
  let folder: string
  let waymark: Constellation
  let document: string

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-clients-'))
    waymark = await startStandalone()
    document = await (await waymark.request('/openapi.json')).text()
  })
  afterAll(async () => {
    await waymark?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it.skipIf(!hasPython)('is a package in Python whose modules all load, and sends', async () => {
    const cwd = path.join(folder, 'python')
    await mkdir(cwd)
    await writeFile(path.join(cwd, 'openapi.json'), document)
    await copyFile(path.join(PROGRAMS, 'program.py'), path.join(cwd, 'program.py'))
    await runCommand('python3', ['-m', 'venv', 'venv'], { cwd })
    const python = path.join(cwd, 'venv/bin/python')
    const requirements = path.join(ROOT, 'libs/client/python/requirements.txt')
    await runCommand(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], { cwd })
    const generate = [
      'generate',
      '--path',
      'openapi.json',
      '--meta',
      'none',
      '--output-path',
      'waymark_client',
    ]
    await runCommand(path.join(cwd, 'venv/bin/openapi-python-client'), generate, { cwd })
    const output = await runCommand(python, ['program.py', ...(await programArguments(waymark))], { cwd })
    expect(JSON.parse(output)).toEqual({
      accepted: 1,
      created: 'defined_by_python',
      listed: [{ eventName: 'sent_by_python', properties: { a: 1 } }],
    })
  })
})
