import type { FuncKeywordDefinition } from 'ajv'

/**
 * JSON Schema's `uniqueItems` in a time that grows with the array. Ajv's own compares objects each with each, for which a
 * few kilobytes of empty objects take seconds.
 */
export const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must NOT have duplicate items' },
  validate: (wanted: boolean, items: unknown[]) => !wanted || areUnique(items),
}

const areUnique = (items: readonly unknown[]): boolean => new Set(items.map(canonical)).size === items.length

// The same text for equal values: the members of objects come in one order.
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
