import { newId } from './id.ts'
import type { Store } from './store.ts'
import type { Page, Properties } from './types.ts'

const NAME = 's'
/** Inactivity after which the next event begins a session, in ms. */
export const SESSION_MS: number = 30 * 60_000

const UTM = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content']
const CLICK_IDS = ['gclid', 'gbraid', 'wbraid', 'dclid', 'fbclid', 'msclkid', 'ttclid', 'twclid', 'li_fat_id']

/** A visit. `entry` has the properties that each of its events gets. */
export type Session = { id: string; at: number; campaign: string; entry: Properties }

/**
 * The session of an event that happens now, which all tabs share. A new one begins after 30 minutes without an event, or
 * when the page was reached by another campaign: a visit then has one source. The date does not matter.
 */
export const currentSession = (page: Page, store: Store, now: number, referrer: string): Session => {
  const campaign = campaignOf(page)
  let session = read(store)
  // A clock that was set back must not prolong a session.
  const isOver = !session || Math.abs(now - session.at) > SESSION_MS
  if (!session || isOver || (campaign.id !== '' && campaign.id !== session.campaign))
    session = { id: newId(now), at: now, campaign: campaign.id, entry: entryOf(page, referrer, campaign.utm) }
  session.at = now
  store.set(NAME, JSON.stringify(session))
  return session
}

export const endSession = (store: Store): void => store.remove(NAME)

const read = (store: Store): Session | undefined => {
  try {
    const session = JSON.parse(store.get(NAME) ?? '')
    return session.id && session.entry && session
  } catch {
    return undefined
  }
}

const campaignOf = (page: Page): { id: string; utm: Properties } => {
  const query = new URLSearchParams(page.location.search)
  const utm: Properties = {}
  let id = ''
  for (const name of [...UTM, ...CLICK_IDS]) {
    const value = query.get(name)
    if (!value) continue
    id += `${name}=${value}&`
    if (UTM.includes(name)) utm[name] = value
  }
  return { id, utm }
}

const entryOf = ({ location }: Page, referrer: string, utm: Properties): Properties => ({
  entry_page: location.pathname,
  ...(referrer && !referrer.startsWith(`${location.origin}/`) && { entry_referrer: referrer }),
  ...utm,
})
