import type { ErasureJob } from './erasure-job.ts'

/** A person as statements on personal data ask for them. */
export type PersonParameters = Omit<ErasureJob, 'id'>

const TYPES = {
  projectId: 'uuid',
  profileIds: 'uuid[]',
  visitorIds: 'text[]',
  userIds: 'text[]',
  erasedAt: 'timestamptz',
} as const

/** Turns `{projectId}` and its like into typed parameters; the values never become part of the text. */
export const bindPerson = (text: string, person: PersonParameters): { text: string; values: unknown[] } => {
  const values: unknown[] = []
  const places = new Map<string, string>()
  const bound = text.replace(
    /\{(projectId|profileIds|visitorIds|userIds|erasedAt)\}/g,
    (_, name: keyof typeof TYPES) => {
      const place = places.get(name) ?? `$${values.push(person[name])}::${TYPES[name]}`
      places.set(name, place)
      return place
    },
  )
  return { text: bound, values }
}
