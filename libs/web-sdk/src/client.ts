import { autoTrack } from './auto-track.ts'
import { createDecisions } from './decisions.ts'
import { newId } from './id.ts'
import { watchPageViews } from './page-views.ts'
import { createQueue } from './queue.ts'
import { currentSession, endSession } from './session.ts'
import { createStore } from './store.ts'
import type { Consent, Options, Page, Properties, Waymark } from './types.ts'

const VISITOR = 'v'
const USER = 'u'
const CONSENT = 'wm.c'

/** What a started client does. */
export type Client = Omit<Waymark, 'init' | 'push'>

/** Starts tracking in a page. */
export const createClient = (page: Page, options: Options): Client => {
  const { key, cookieless = false, dnt = false, pageViews = true, track: kinds = [] } = options
  const { navigator, document, location } = page
  const host = (options.host ?? location.origin).replace(/\/+$/, '')
  const { doNotTrack, globalPrivacyControl } = navigator as Navigator & { globalPrivacyControl?: boolean }
  const isRefused = dnt && (doNotTrack === '1' || globalPrivacyControl === true)
  const keepsNothing = cookieless || isRefused
  let consent: Consent = (keepsNothing ? undefined : rememberedConsent(page)) ?? options.consent ?? 'granted'
  const store = createStore(page, !keepsNothing && consent === 'granted')
  const mayTrack = (): boolean => !isRefused && consent !== 'denied'
  const maySend = (): boolean => !isRefused && consent === 'granted'
  const queue = createQueue(page, store, { host, key, cookieless, isAllowed: maySend })

  const visitorId = (): string => {
    let id = store.get(VISITOR)
    if (id === undefined) {
      id = newId(Date.now())
      store.set(VISITOR, id)
    }
    return id
  }
  const userId = (): string | undefined => store.get(USER)
  const addNow = (kind: 'identify' | 'exposures', message: Properties): void => {
    if (mayTrack()) queue.add(kind, message, Date.now())
  }
  const decide = createDecisions({ page, store, host, key, onSeen: (seen) => addNow('exposures', seen) })
  /** The page before the current one. */
  let { referrer } = document
  let shownAt = Date.now()

  const client: Client = {
    track: (eventName, properties) => {
      if (!mayTrack()) return
      const now = Date.now()
      const { id: sessionId, entry } = currentSession(page, store, now, referrer)
      const event = {
        eventId: newId(now),
        eventName,
        // The server makes the id of a cookieless visitor, and analytics their sessions.
        ...(!cookieless && { visitorId: visitorId(), sessionId }),
        userId: userId(),
        clientTimestamp: new Date(now).toISOString(),
        properties: { url: location.href, ...(!cookieless && entry), ...properties },
      }
      queue.add('t', event, now)
    },
    page: (properties) => {
      shownAt = Date.now()
      client.track('page_view', { title: document.title, referrer: referrer || undefined, ...properties })
      referrer = location.href
    },
    identify: (user, traits, { userHash } = {}) => {
      if (!mayTrack() || !user) return
      // Callers without types pass numbers.
      const id = `${user}`
      store.set(USER, id)
      addNow('identify', { visitorId: visitorId(), userId: id, traits, userHash })
    },
    reset: () => {
      for (const name of [USER, VISITOR]) store.remove(name)
      endSession(store)
    },
    decide: (keys) => decide(keys, maySend() ? { visitorId: visitorId(), userId: userId() } : undefined),
    setConsent: (given) => {
      consent = given
      if (!keepsNothing) {
        store.persist(given === 'granted')
        rememberConsent(page, given)
      } else if (given === 'denied') store.persist(false)
      queue.flush()
    },
  }

  page.addEventListener('online', queue.flush)
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') queue.flush()
  })
  page.addEventListener('pagehide', () => {
    if (kinds.includes('leave')) client.track('page_leave', { seconds: (Date.now() - shownAt) / 1_000 })
    queue.beacon()
  })
  // What earlier pages have left.
  queue.flush()
  if (pageViews) watchPageViews(page, () => client.page())
  autoTrack(page, kinds, client.track)
  return client
}

const rememberedConsent = (page: Page): Consent | undefined => {
  try {
    const consent = page.localStorage.getItem(CONSENT)
    return consent === 'granted' || consent === 'denied' ? consent : undefined
  } catch {
    return undefined
  }
}

const rememberConsent = (page: Page, consent: Consent): void => {
  try {
    if (consent === 'pending') page.localStorage.removeItem(CONSENT)
    else page.localStorage.setItem(CONSENT, consent)
  } catch {}
}
