import type { FuncKeywordDefinition } from 'ajv'
import { canonicalJson } from '../json/canonical-json.ts'

/**
 * `uniqueItems` of JSON Schema in linear time. The implementation of Ajv compares all pairs of objects, so that a few
 * kilobytes of empty objects take seconds.
 */
export const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must not contain an item twice' },
  validate: (wanted: boolean, items: unknown[]) => !wanted || areUnique(items),
}

const areUnique = (items: readonly unknown[]): boolean =>
  new Set(items.map(canonicalJson)).size === items.length
