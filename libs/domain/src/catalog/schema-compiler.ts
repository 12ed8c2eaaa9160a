import { parseRfc3339 } from '@waymark/contracts/rfc3339'
import { withTextLength } from '@waymark/contracts/validator'
import { _, Ajv, type FuncKeywordDefinition, type Options, str } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { canonicalJson } from '../json/canonical-json.ts'
import { isMultipleOf } from './decimal-multiple.ts'
import type { Draft } from './schema-vocabulary.ts'

export type SchemaCompiler = Ajv | Ajv2019 | Ajv2020

const COMPILERS = { '2020-12': Ajv2020, '2019-09': Ajv2019, 'draft-07': Ajv, 'draft-06': Ajv } as const

/** Creates the compiler of event schemas in a draft. Unknown formats are ignored, as JSON Schema requires, without log output. */
export const createSchemaCompiler = (draft: Draft, options: Options = {}): SchemaCompiler => {
  const compiler: SchemaCompiler = new COMPILERS[draft]({
    strict: false,
    inlineRefs: false,
    // Otherwise every object has a member `constructor`.
    ownProperties: true,
    code: { optimize: false },
    logger: false,
    ...options,
  })
  addFormats.default(withTextLength(compiler))
  return (
    compiler
      .removeKeyword('uniqueItems')
      .addKeyword(uniqueItems)
      .removeKeyword('multipleOf')
      .addKeyword(multipleOf)
      // The pattern of ajv-formats takes quadratic time.
      .addFormat('url', isUrl)
      // As the times of Waymark's own fields. Those of ajv-formats accept +0200 and any white space.
      .addFormat('date-time', (text: string) => parseRfc3339(text) !== undefined)
      .addFormat('time', (text: string) => parseRfc3339(`2026-01-31T${text}`) !== undefined)
  )
}

const isUrl = (text: string): boolean =>
  !/\s/.test(text) && /^(?:https?|ftp):$/.test(URL.parse(text)?.protocol ?? '')

/**
 * `uniqueItems` of JSON Schema in linear time. The implementation of Ajv compares all pairs of objects, so that a few
 * kilobytes of empty objects take seconds.
 */
const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must not contain an item twice' },
  validate: (wanted: boolean, items: unknown[]) => !wanted || areUnique(items),
}

const areUnique = (items: readonly unknown[]): boolean =>
  new Set(items.map(canonicalJson)).size === items.length

/** `multipleOf` in decimal arithmetic. The implementation of Ajv divides binary fractions and refuses 19.99 for 0.01. */
const multipleOf: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  error: {
    message: ({ schemaCode }) => str`must be a multiple of ${schemaCode}`,
    params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
  },
  compile: (divisor: number) => (value: number) => isMultipleOf(value, divisor),
}
