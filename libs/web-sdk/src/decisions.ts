import type { Store } from './store.ts'
import type { Decision, Page, Properties } from './types.ts'

const NAME = 'd'
/** How long decisions are used without being asked for again, in ms. */
const FRESH_MS = 5 * 60_000

type Flag = { key: string; value?: unknown; variant?: string; metadata?: { ruleId?: string | null } }
type Kept = { who: string; at: number; flags: Flag[] }
type Person = { visitorId: string; userId?: string | undefined }

type Deps = {
  page: Page
  store: Store
  host: string
  key: string
  /** Called the first time that a person sees a variant. */
  onSeen: (exposure: Properties) => void
}

/** Decisions by their keys. Without a person none is known. */
type Decide = <Key extends string>(
  keys: readonly Key[],
  person: Person | undefined,
) => Promise<Record<Key, Decision>>

/** Decides by one evaluation of all decisions, which is kept and counts no exposure. */
export const createDecisions = ({ page, store, host, key, onSeen }: Deps): Decide => {
  const seen = new Set<string>()
  let asking: { who: string; answer: Promise<Kept | undefined> } | undefined

  const kept = (): Kept | undefined => {
    try {
      return JSON.parse(store.get(NAME) ?? '') as Kept
    } catch {
      return undefined
    }
  }

  const evaluate = async ({ visitorId, userId }: Person, who: string): Promise<Kept | undefined> => {
    try {
      const response = await page.fetch(`${host}/ofrep/v1/evaluate/flags`, {
        method: 'POST',
        credentials: 'omit',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
        body: JSON.stringify({ context: { targetingKey: visitorId, userId } }),
      })
      if (!response.ok) return undefined
      const { flags } = (await response.json()) as { flags: Flag[] }
      const found = { who, at: Date.now(), flags }
      store.set(NAME, JSON.stringify(found))
      return found
    } catch {
      return undefined
    }
  }

  /** The decisions of a person. Without an answer those kept are used, however old. */
  const flagsOf = async (person: Person): Promise<Flag[]> => {
    const who = JSON.stringify([person.visitorId, person.userId])
    const known = kept()
    const own = known?.who === who ? known : undefined
    if (own && Math.abs(Date.now() - own.at) < FRESH_MS) return own.flags
    if (asking?.who !== who) {
      asking = { who, answer: evaluate(person, who) }
      void asking.answer.then(() => {
        if (asking?.who === who) asking = undefined
      })
    }
    return ((await asking.answer) ?? own)?.flags ?? []
  }

  return async <Key extends string>(keys: readonly Key[], person: Person | undefined) => {
    const flags = person ? await flagsOf(person) : []
    const see = ({ key: decision, variant, metadata }: Flag): void => {
      const exposure = { ...person, key: decision, variant, ruleId: metadata?.ruleId ?? undefined }
      const name = JSON.stringify(exposure)
      if (variant === undefined || seen.has(name)) return
      seen.add(name)
      onSeen({ ...exposure, at: new Date().toISOString() })
    }
    const decisionOf = (flag: Flag): Decision => ({
      get value() {
        see(flag)
        return flag.value
      },
      get variant() {
        see(flag)
        return flag.variant
      },
    })
    const wanted: Partial<Record<Key, Decision>> = {}
    for (const one of keys) wanted[one] = decisionOf(flags.find((flag) => flag.key === one) ?? { key: one })
    return wanted as Record<Key, Decision>
  }
}
