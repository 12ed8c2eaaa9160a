import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ROOT } from '@waymark/testing'
import ts from 'typescript'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createEmptyFolder, type EmptyFolder } from './empty-folder.ts'

// Long, because the types of the whole API are generated and checked.
let empty: EmptyFolder
beforeAll(async () => {
  empty = await createEmptyFolder()
})
afterAll(() => empty?.remove())

it('works as the published package in an empty folder, with its types', async () => {
  const { folder, run, install } = empty
  await install('libs/client')
  const program = path.join(folder, 'program.ts')
  const lines = [
    "import { ApiError, createClient, isApiError } from '@waymark/client'",
    "const client = createClient({ baseUrl: 'http://localhost:1', token: 'none', retry: { attempts: 0 } })",
    "const error: unknown = await client.get('/api/auth/me').catch((thrown: unknown) => thrown)",
    "if (error instanceof ApiError || !(error instanceof Error)) throw new Error('unexpected')",
    "if (isApiError(error, 'post', '/api/v1/coupons/redeem', 409)) error.body.reason satisfies string",
    'console.log(error.name)',
  ]
  const wrong = [
    "client.get('/api/nonsense')",
    "client.post('/api/v1/coupons/redeem', { body: { code: 7 } })",
    '',
  ]
  await writeFile(program, lines.join('\n'))
  await writeFile(path.join(folder, 'wrong.ts'), [lines[0], lines[1], ...wrong].join('\n'))
  const compiled = ts.createProgram([program, path.join(folder, 'wrong.ts')], {
    noEmit: true,
    strict: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    typeRoots: [path.join(ROOT, 'node_modules/@types')],
    types: ['node'],
  })
  const errors = ts.getPreEmitDiagnostics(compiled).map(({ file, start = 0 }) => {
    const line = file?.getLineAndCharacterOfPosition(start).line ?? -1
    return [path.basename(file?.fileName ?? ''), line]
  })
  expect(errors).toEqual([
    ['wrong.ts', 2],
    ['wrong.ts', 3],
  ])
  expect(await run(['program.ts'])).toBe('ConnectionError\n')
})
