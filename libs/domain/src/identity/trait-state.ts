import { MAX_PROFILE_TRAITS_BYTES } from '@waymark/contracts'

/** Which write a trait is from. Of two, the later one by `compareWrites` counts. */
export type TraitWrite = {
  /** When the gateway received it, RFC 3339. */
  at: string
  /** Id of the record that it came with. */
  by: string
  /** Whether it was for a known user; else it was for an anonymous visitor. */
  own: boolean
  /** False for a write by a public key that did not prove its user. Absent otherwise, and in older stored writes. */
  verified?: false
}

/** What is known of the traits of one person. A trait that was unset has a write and no value. */
export type TraitState = { traits: Record<string, unknown>; writes: Record<string, TraitWrite> }

/** Traits that an unverified write never replaces once a verified one has set or unset them. */
const PROTECTED_TRAITS: ReadonlySet<string> = new Set(['email', 'phone'])

/**
 * Traits that a profile keeps, unset ones included. It is a bound against abuse, which also keeps `mergeTraits` what it
 * is: the traits that were written last stay.
 */
export const MAX_TRAITS_PER_PROFILE = 1_000

export const noTraits: TraitState = { traits: {}, writes: {} }

/** What one write says: the traits it sets, and those that it unsets by `null`. */
export const writtenTraits = (traits: Record<string, unknown>, write: TraitWrite): TraitState => {
  const entries = Object.entries(traits)
  return {
    traits: Object.fromEntries(entries.filter(([, value]) => value !== null)),
    writes: Object.fromEntries(entries.map(([name]) => [name, write])),
  }
}

/**
 * The order of writes of one trait: those for a known user come after all that were for an anonymous visitor, so that a
 * user's own traits win when a visitor turns out to be that user; else the time of receipt decides, then the record's id.
 */
export const compareWrites = (a: TraitWrite, b: TraitWrite): number =>
  Number(a.own) - Number(b.own) || Date.parse(a.at) - Date.parse(b.at) || compareText(a.by, b.by)

const isProtected = (name: string, write: TraitWrite): boolean =>
  PROTECTED_TRAITS.has(name) && write.verified !== false

/**
 * The order of writes of a trait by name: a verified write of `email` or `phone` comes after all that are not. Also used
 * to choose which traits are kept, so that other traits cannot push a protected one out.
 */
const compareNamedWrites = (nameA: string, a: TraitWrite, nameB: string, b: TraitWrite): number =>
  Number(isProtected(nameA, a)) - Number(isProtected(nameB, b)) || compareWrites(a, b)

/** The names in `traits` that `write` may not replace, since a verified write set or unset them. */
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
 * What is known when two states are known: per trait, the later write. Commutative, associative and idempotent, so that
 * writes may arrive late, twice and in any order. One record must write a trait only once.
 */
export const mergeTraits = (a: TraitState, b: TraitState): TraitState => {
  const merged = new Map<string, { state: TraitState; write: TraitWrite }>()
  for (const state of [a, b]) {
    for (const [name, write] of Object.entries(state.writes)) {
      const other = merged.get(name)
      if (!other || compareNamedWrites(name, write, name, other.write) > 0) merged.set(name, { state, write })
    }
  }
  const kept = [...merged]
    .sort(
      ([nameA, a], [nameB, b]) =>
        compareNamedWrites(nameB, b.write, nameA, a.write) || compareText(nameA, nameB),
    )
    .slice(0, MAX_TRAITS_PER_PROFILE)
  return {
    traits: Object.fromEntries(
      kept.flatMap(([name, { state }]) =>
        Object.hasOwn(state.traits, name) ? [[name, state.traits[name]]] : [],
      ),
    ),
    writes: Object.fromEntries(kept.map(([name, { write }]) => [name, write])),
  }
}

/** Bytes of one member of a JSON object, with the comma or brace behind it. */
const memberBytes = (name: string, value: unknown): number =>
  Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(JSON.stringify(value)) + 2

/** UTF-8 length of traits as JSON. */
export const traitsBytes = (traits: Record<string, unknown>): number =>
  Buffer.byteLength(JSON.stringify(traits))

/** Whether `next` is over the limit of a profile and not smaller than `previous`, which may be from before the limit. */
export const exceedsProfile = (next: TraitState, previous: TraitState): boolean => {
  const bytes = traitsBytes(next.traits)
  return bytes > MAX_PROFILE_TRAITS_BYTES && bytes > traitsBytes(previous.traits)
}

/**
 * `mergeTraits` within the limit of a profile: where not all fits, the traits that `added` wrote last are taken first,
 * and one that does not fit beside what there is is left out.
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
