import type { Link } from '../api/types.ts'

type Utm = Link['utm']

/** The UTM parameters with a field in the form of a link. */
const FIELDS = ['source', 'medium', 'campaign'] as const

/** The UTM parameters of a link after its form: an empty field removes one, and those without a field stay. */
export const utmOf = (values: Record<string, string>, before: Utm = {}): Utm => {
  const others = Object.entries(before).filter(([name]) => !FIELDS.some((field) => field === name))
  const entered = FIELDS.flatMap((name) => {
    const value = values[`utm-${name}`]
    return value ? [[name, value] as const] : []
  })
  return Object.fromEntries([...others, ...entered])
}
