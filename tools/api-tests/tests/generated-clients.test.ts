import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Constellation, runCommand, startStandalone } from '@waymark/testing'
import openapiTS, { astToString } from 'openapi-typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programArguments } from './generated-clients/program-arguments.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const PROGRAMS = path.join(import.meta.dirname, 'generated-clients')

// `generated-clients.chaos.test.ts` has the one in Python, whose generator is downloaded.
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
    await runCommand(path.join(ROOT, 'node_modules/.bin/tsc'), ['--project', cwd], { cwd })
    const output = await runCommand(
      process.execPath,
      ['out/program.mjs', ...(await programArguments(waymark))],
      { cwd },
    )
    expect(JSON.parse(output)).toEqual({
      accepted: 1,
      identified: 200,
      created: 'defined_by_typescript',
      listed: [{ eventName: 'sent_by_typescript', properties: { a: 1 } }],
      refused: 400,
    })
  })
})
