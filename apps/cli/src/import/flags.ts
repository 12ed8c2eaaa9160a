import { Unsupported } from './imported.ts'

/** A flag as a decision, in the terms of the API. */
export type ImportedFlag = {
  /** Whether its rules apply. Otherwise everybody gets the fallback variant. */
  isOn: boolean
  decision: {
    key: string
    name?: string
    description?: string
    variants: Variant[]
    fallbackVariant: string
    rules: Rule[]
  }
}
export type Variant = { key: string; value: unknown }
export type Rule = {
  description?: string
  condition?: unknown
  prerequisites?: { decision: string; variants: string[] }[]
  rollout?: number
  variant?: string
  split?: { variant: string; weight: number }[]
}

const MAX_KEY_LENGTH = 100

/** Keys of variants from their names: letters, digits, `_`, `.` and `-`, each once. */
export const variantKeys = (names: readonly string[]): string[] => {
  const used = new Set<string>()
  return names.map((name, index) => {
    const plain = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '')
    const base = plain.slice(0, MAX_KEY_LENGTH - 10) || `variant-${index + 1}`
    const key = used.has(base) ? `${base}-${index + 1}` : base
    used.add(key)
    return key
  })
}

/** Reads the value of an attribute in a condition. */
export const attribute = (root: string, name: string): object => {
  if (name === '') throw new Unsupported('a condition names no attribute')
  return name.includes('.') ? { val: [root, ...name.split('.')] } : { var: `${root}.${name}` }
}

/** Comparisons of an attribute with one value. A person without the attribute never matches. */
export const comparisons: Record<string, (value: object, wanted: unknown) => object> = {
  equals: (value, wanted) => ({ '===': [value, wanted] }),
  contains: (value, wanted) => ({ and: [{ '!!': value }, { in: [text(wanted), value] }] }),
  startsWith: (value, wanted) => ({
    and: [{ '!!': value }, { '===': [{ substr: [value, 0, text(wanted).length] }, text(wanted)] }],
  }),
  endsWith: (value, wanted) => ({
    and: [{ '!!': value }, { '===': [{ substr: [value, -text(wanted).length] }, text(wanted)] }],
  }),
  less: (value, wanted) => ({ and: [exists(value), { '<': [value, number(wanted)] }] }),
  lessOrEqual: (value, wanted) => ({ and: [exists(value), { '<=': [value, number(wanted)] }] }),
  greater: (value, wanted) => ({ and: [exists(value), { '>': [value, number(wanted)] }] }),
  greaterOrEqual: (value, wanted) => ({ and: [exists(value), { '>=': [value, number(wanted)] }] }),
}

/** Null counts as 0 in a comparison. */
const exists = (value: object): object => ({ '!==': [value, null] })

const text = (value: unknown): string => {
  if (typeof value === 'string' && value !== '') return value
  throw new Unsupported(`a condition compares with ${JSON.stringify(value)}, which is no text`)
}

const number = (value: unknown): number => {
  const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof read === 'number' && Number.isFinite(read)) return read
  throw new Unsupported(`a condition compares with ${JSON.stringify(value)}, which is no number`)
}

/** All of the conditions; undefined for none. */
export const all = (conditions: readonly object[]): object | undefined =>
  conditions.length > 1 ? { and: conditions } : conditions[0]

/** Any of the conditions. */
export const any = (conditions: readonly object[]): object => {
  const [first] = conditions
  if (!first) throw new Unsupported('a condition has no values')
  return conditions.length > 1 ? { or: conditions } : first
}
