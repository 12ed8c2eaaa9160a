import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { catalogSchema, catalogTypes } from './catalog-types.ts'

const CATALOG = [
  {
    name: 'order_placed',
    description: 'Somebody */ ordered',
    schema: {
      type: 'object',
      properties: { total: { type: 'integer' }, currency: { enum: ['EUR', 'USD'] } },
      required: ['total'],
      additionalProperties: false,
    },
  },
  {
    name: 'page view',
    description: null,
    schema: { type: 'object', properties: { path: { type: 'string' } } },
  },
  { name: '3d.viewed', description: null, schema: {} },
  {
    name: 'Order-Placed',
    description: null,
    schema: { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } },
  },
]

/** The first error of each line of a program that uses the types. */
const errorsOf = async (lines: readonly string[]): Promise<(string | undefined)[]> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waymark-types-'))
  try {
    await writeFile(path.join(folder, 'events.ts'), await catalogTypes(CATALOG))
    const file = path.join(folder, 'program.ts')
    const imports = "import type { Track } from './events.ts'; declare const track: Track"
    await writeFile(file, [imports, ...lines].join('\n'))
    const program = ts.createProgram([file], {
      noEmit: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      erasableSyntaxOnly: true,
      allowImportingTsExtensions: true,
      types: [],
      lib: ['lib.es2022.d.ts'],
      module: ts.ModuleKind.NodeNext,
    })
    const errors = new Map<number, string>()
    for (const { file: source, start = 0, messageText } of ts.getPreEmitDiagnostics(program)) {
      const line = source?.fileName === file ? source.getLineAndCharacterOfPosition(start).line : 0
      errors.set(line, `${errors.get(line) ?? ''}${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
    }
    return [imports, ...lines].map((_, line) => errors.get(line))
  } finally {
    await rm(folder, { recursive: true })
  }
}

it('lets only events of the catalog compile', async () => {
  const lines: [string, RegExp?][] = [
    ["track('order_placed', { total: 1, currency: 'EUR' })"],
    ["track('page view')"],
    ["track('page view', { path: '/', more: 1 })"],
    // As @waymark/web declares it.
    ['declare const wide: (name: string, properties?: Record<string, unknown>) => void'],
    ['export const narrow: Track = wide'],
    ["track('order_placed', { totl: 1 })", /'totl' does not exist/],
    ["track('order_placed', { total: '1' })", /'string' is not assignable to type 'number'/],
    ["track('order_placed', { total: 1, currency: 'GBP' })", /'"GBP"' is not assignable/],
    ["track('order_placed')", /Expected 2 arguments/],
    ["track('ordr_placed', { total: 1 })", /'"ordr_placed"' is not assignable/],
  ]
  const [imports, ...errors] = await errorsOf(lines.map(([line]) => line))
  expect(imports).toBeUndefined()
  expect(errors).toEqual(lines.map(([, message]) => message && expect.stringMatching(message)))
})

it('describes any event of the catalog in one JSON Schema', () => {
  const fits = new Ajv2020({ strict: false }).compile(catalogSchema(CATALOG.slice(0, 2)))
  expect(fits({ eventName: 'order_placed', properties: { total: 1 } })).toBe(true)
  expect(fits({ eventName: 'order_placed', properties: { totl: 1 } })).toBe(false)
  expect(fits({ eventName: 'unknown', properties: {} })).toBe(false)
})
