/** Which write a trait is from. Of two, the later one by `compareWrites` counts. */
export type TraitWrite = {
  /** When the gateway received it, RFC 3339. */
  at: string
  /** Id of the record that it came with. */
  by: string
  /** Whether it was for a known user; else it was for an anonymous visitor. */
  own: boolean
}

/** What is known of the traits of one person. A trait that was unset has a write and no value. */
export type TraitState = { traits: Record<string, unknown>; writes: Record<string, TraitWrite> }

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

/**
 * What is known when two states are known: per trait, the later write. Commutative, associative and idempotent, so that
 * writes may arrive late, twice and in any order. One record must write a trait only once.
 */
export const mergeTraits = (a: TraitState, b: TraitState): TraitState => {
  const merged = new Map<string, { state: TraitState; write: TraitWrite }>()
  for (const state of [a, b]) {
    for (const [name, write] of Object.entries(state.writes)) {
      const other = merged.get(name)
      if (!other || compareWrites(write, other.write) > 0) merged.set(name, { state, write })
    }
  }
  const kept = [...merged]
    .sort(([nameA, a], [nameB, b]) => compareWrites(b.write, a.write) || compareText(nameA, nameB))
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

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
