import { MAX_PROFILE_TRAITS_BYTES } from '@waymark/contracts/http/identify'

/** The write of a trait. The later one by `compareWrites` wins. */
export type TraitWrite = {
  /** When it was true: when the gateway received it, or for one of the past when it happened. RFC 3339. */
  at: string
  /** Id of its record. */
  by: string
  /** Whether it was for a user, and not for an anonymous visitor. */
  own: boolean
  /** False for a write with a public key and without proof of the user. Absent otherwise, and in older stored writes. */
  verified?: false
}

/** The traits of one person and their writes. An unset trait has a write and no value. */
export type TraitState = { traits: Record<string, unknown>; writes: Record<string, TraitWrite> }

/** Traits that an unverified write cannot replace after a verified one. */
const PROTECTED_TRAITS: ReadonlySet<string> = new Set(['email', 'phone'])

/**
 * Maximum traits of a profile, including unset ones. Beyond it, `mergeTraits` keeps those that were written last.
 */
export const MAX_TRAITS_PER_PROFILE = 1_000

export const noTraits: TraitState = { traits: {}, writes: {} }

/** The state of a single write. `null` unsets a trait. */
export const writtenTraits = (traits: Record<string, unknown>, write: TraitWrite): TraitState => {
  const entries = Object.entries(traits)
  return {
    traits: Object.fromEntries(entries.filter(([, value]) => value !== null)),
    writes: Object.fromEntries(entries.map(([name]) => [name, write])),
  }
}

/**
 * The order of writes of a trait. Writes for a user come after those for an anonymous visitor, so that the user's traits win
 * in a merge. Otherwise the time decides, and then the record id.
 */
const compareWrites = (a: TraitWrite, b: TraitWrite): number =>
  Number(a.own) - Number(b.own) || Date.parse(a.at) - Date.parse(b.at) || compareText(a.by, b.by)

const isProtected = (name: string, write: TraitWrite): boolean =>
  PROTECTED_TRAITS.has(name) && write.verified !== false

/**
 * Like `compareWrites`, but verified writes of `email` and `phone` come after unverified ones. It also determines which
 * traits are kept, so that others cannot displace a protected one.
 */
const compareNamedWrites = (nameA: string, a: TraitWrite, nameB: string, b: TraitWrite): number =>
  Number(isProtected(nameA, a)) - Number(isProtected(nameB, b)) || compareWrites(a, b)

/** The names in `traits` that `write` may not replace, because a verified write has set or unset them. */
export const protectedTraits = (
  { writes }: TraitState,
  traits: Record<string, unknown>,
  { verified }: Pick<TraitWrite, 'verified'>,
): string[] => {
  if (verified !== false) return []
  return Object.keys(traits).filter((name) => {
    const known = PROTECTED_TRAITS.has(name) ? writes[name] : undefined
    return known !== undefined && isProtected(name, known)
  })
}

/**
 * Merges two states: for each trait, the later write wins. Commutative, associative and idempotent, so that writes may
 * arrive late, repeatedly and in any order. One record must write a trait only once.
 */
export const mergeTraits = (a: TraitState, b: TraitState): TraitState => {
  const traits = copyOf(a.traits)
  const writes = copyOf(a.writes)
  for (const [name, write] of Object.entries(b.writes)) {
    const other = Object.hasOwn(writes, name) ? writes[name] : undefined
    if (other && compareNamedWrites(name, write, name, other) <= 0) continue
    writes[name] = write
    if (Object.hasOwn(b.traits, name)) traits[name] = b.traits[name]
    else delete traits[name]
  }
  for (const name of firstWritten(writes, Object.keys(writes).length - MAX_TRAITS_PER_PROFILE)) {
    delete writes[name]
    delete traits[name]
  }
  return { traits, writes }
}

/** A copy without a prototype. V8 builds another object of a thousand members in milliseconds, by a hidden class for each. */
const copyOf = <T>(values: Record<string, T>): Record<string, T> =>
  Object.assign(Object.create(null) as Record<string, T>, values)

/** The names of the traits that were written first, `count` of them. */
const firstWritten = (writes: TraitState['writes'], count: number): string[] =>
  count <= 0
    ? []
    : Object.entries(writes)
        // Each time is read once, because sorting compares each write about ten times.
        .map(([name, write]) => ({
          name,
          write,
          protects: isProtected(name, write),
          at: Date.parse(write.at),
        }))
        .sort(
          (a, b) =>
            Number(a.protects) - Number(b.protects) ||
            Number(a.write.own) - Number(b.write.own) ||
            a.at - b.at ||
            compareText(a.write.by, b.write.by) ||
            compareText(b.name, a.name),
        )
        .slice(0, count)
        .map(({ name }) => name)

/** Size of a member of a JSON object, with the following comma or brace, in bytes. */
const memberBytes = (name: string, value: unknown): number =>
  Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(JSON.stringify(value)) + 2

/** UTF-8 length of traits as JSON. */
export const traitsBytes = (traits: Record<string, unknown>): number =>
  Buffer.byteLength(JSON.stringify(traits))

/** Whether `next` exceeds the limit of a profile and is not smaller than `previous`, which may exceed it already. */
export const exceedsProfile = (next: TraitState, previous: TraitState): boolean => {
  const bytes = traitsBytes(next.traits)
  return bytes > MAX_PROFILE_TRAITS_BYTES && bytes > traitsBytes(previous.traits)
}

/**
 * Like `mergeTraits`, within the limit of a profile: adds the traits of `added` from the last written one on, and leaves out
 * those that do not fit.
 */
export const mergeTraitsThatFit = (kept: TraitState, added: TraitState): TraitState => {
  const all = mergeTraits(kept, added)
  if (!exceedsProfile(all, kept)) return all
  let bytes = traitsBytes(kept.traits)
  const fitting = Object.entries(added.writes)
    .filter(([name, write]) => all.writes[name] === write)
    .sort(([nameA, a], [nameB, b]) => compareNamedWrites(nameB, b, nameA, a) || compareText(nameA, nameB))
    .filter(([name]) => {
      const old = Object.hasOwn(kept.traits, name) ? memberBytes(name, kept.traits[name]) : 0
      const grown = Object.hasOwn(added.traits, name) ? memberBytes(name, added.traits[name]) - old : -old
      if (grown > 0 && bytes + grown > MAX_PROFILE_TRAITS_BYTES) return false
      bytes += grown
      return true
    })
  const names = new Set(fitting.map(([name]) => name))
  const pick = <T>(values: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name)))
  return mergeTraits(kept, { traits: pick(added.traits), writes: pick(added.writes) })
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
