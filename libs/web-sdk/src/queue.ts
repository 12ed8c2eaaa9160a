import { newId, timeOfId } from './id.ts'
import type { Store } from './store.ts'
import type { Page, Properties } from './types.ts'

/** What is sent: an event, an identify call or an exposure. */
export type Kind = 't' | 'identify' | 'exposures'

/** How long messages are collected before they are sent, in ms. */
const COLLECT_MS = 500
/** Maximum characters kept in localStorage, which takes two bytes for each: 1 MB. */
export const MAX_KEPT: number = 500_000
/** Maximum bytes of a request: browsers allow 64 KiB for all requests that outlive their page. */
const MAX_BYTES = 60_000
const MAX_MESSAGES = 100
/** After this time without an answer a request is repeated, in ms. */
const TIMEOUT_MS = 20_000
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 300_000
/** When messages of another tab are sent by this one, in ms. */
const ADOPT_MS = 10_000
/** The time until which the server asked to send nothing. */
const PAUSE = 'r'
const MESSAGE = 'e.'

export type Queue = {
  add(kind: Kind, message: Properties, now: number): void
  /** Sends what waits as soon as possible. */
  flush(): void
  /** Hands everything that waits to the browser, because the page may end. */
  beacon(): void
}

type Batch = { names: string[]; url: string; body: string }

/**
 * Messages that wait to be sent. Each is stored by itself until the server has accepted it, so that the next page or
 * another tab sends it otherwise. Ids in the messages make repeats harmless.
 */
export const createQueue = (
  page: Page,
  store: Store,
  {
    host,
    key,
    cookieless,
    isAllowed,
  }: { host: string; key: string; cookieless: boolean; isAllowed: () => boolean },
): Queue => {
  const inFlight = new Set<string>()
  const own = new Set<string>()
  let timer: number | undefined
  let adoption: number | undefined
  let failures = 0

  const waiting = (): string[] =>
    store.names(MESSAGE).filter((name) => {
      if (inFlight.has(name)) return false
      const age = Date.now() - timeOfId(name.slice(MESSAGE.length))
      return own.has(name) || Math.abs(age) > ADOPT_MS
    })

  const dropOldest = (): void => {
    const names = store.names(MESSAGE)
    const sizes = names.map((name) => name.length + (store.get(name)?.length ?? 0))
    let kept = sizes.reduce((sum, size) => sum + size, 0)
    for (const [index, name] of names.entries()) {
      if (kept <= MAX_KEPT) return
      store.remove(name)
      kept -= sizes[index] ?? 0
    }
  }

  /** The first messages of `names` that fit into one request. Those of another kind wait, to keep the order. */
  const nextBatch = (names: readonly string[]): Batch | undefined => {
    const taken: string[] = []
    const messages: Properties[] = []
    let kind: Kind | undefined
    let size = 0
    for (const name of names) {
      const text = store.get(name)
      if (text === undefined) continue
      const [of, message] = JSON.parse(text) as [Kind, Properties]
      size += new TextEncoder().encode(text).length
      const isFull = size > MAX_BYTES || messages.length === (kind === 'identify' ? 1 : MAX_MESSAGES)
      if (kind && (of !== kind || isFull)) break
      kind = of
      taken.push(name)
      messages.push(message)
    }
    if (!kind) return undefined
    const url = `${host}/api/v1/${kind}?apiKey=${encodeURIComponent(key)}`
    if (kind === 'identify') return { names: taken, url, body: JSON.stringify(messages[0]) }
    if (kind === 'exposures') return { names: taken, url, body: JSON.stringify({ exposures: messages }) }
    const sentAt = new Date().toISOString()
    return {
      names: taken,
      url: cookieless ? `${url}&cookieless=1` : url,
      body: JSON.stringify({ events: messages, sentAt }),
    }
  }

  const flushIn = (ms: number): void => {
    page.clearTimeout(timer)
    timer = page.setTimeout(() => void flush(), ms)
  }

  /** Messages of another tab may be those of a page that has ended. */
  const adoptLater = (): void => {
    page.clearTimeout(adoption)
    if (store.names(MESSAGE).length > 0) adoption = page.setTimeout(() => void flush(), ADOPT_MS)
  }

  const retry = (answer: Response | undefined): void => {
    const asked = Number(answer?.headers.get('Retry-After')) * 1_000
    const wait = Math.min(FIRST_RETRY_MS * 2 ** failures++, MAX_RETRY_MS)
    // Each client waits a different time, so that they do not all return at once.
    const ms = asked > 0 ? asked : wait * (0.5 + Math.random() / 2)
    if (asked > 0) store.set(PAUSE, `${Date.now() + ms}`)
    flushIn(ms)
  }

  /** Resolves to undefined without an answer. */
  const post = async ({ url, body }: Batch): Promise<Response | undefined> => {
    const stop = new AbortController()
    const late = page.setTimeout(() => stop.abort(), TIMEOUT_MS)
    try {
      // As text, which a page may send to another site without asking first.
      const headers = { 'Content-Type': 'text/plain' }
      const { signal } = stop
      return await page.fetch(url, {
        method: 'POST',
        keepalive: true,
        credentials: 'omit',
        headers,
        body,
        signal,
      })
    } catch {
      return undefined
    } finally {
      page.clearTimeout(late)
    }
  }

  const pauseMs = (): number => {
    const ms = Number(store.get(PAUSE) ?? 0) - Date.now()
    // A clock that was set back must not stop it.
    return ms > 0 && ms <= 24 * 3_600_000 ? ms : 0
  }

  const flush = async (): Promise<void> => {
    if (inFlight.size > 0 || !isAllowed()) return
    page.clearTimeout(timer)
    timer = undefined
    const pause = pauseMs()
    if (pause > 0) return flushIn(pause)
    const batch = nextBatch(waiting())
    if (!batch) return adoptLater()
    for (const name of batch.names) inFlight.add(name)
    const answer = await post(batch)
    inFlight.clear()
    const isRefused = !answer || answer.status >= 500 || answer.status === 429 || answer.status === 408
    if (isRefused) return retry(answer)
    failures = 0
    // What the server calls invalid stays so.
    for (const name of batch.names) {
      store.remove(name)
      own.delete(name)
    }
    return flush()
  }

  return {
    add: (kind, message, now) => {
      const name = MESSAGE + newId(now)
      own.add(name)
      store.set(name, JSON.stringify([kind, message]))
      dropOldest()
      if (timer === undefined && inFlight.size === 0) flushIn(COLLECT_MS)
    },
    flush: () => void flush(),
    beacon: () => {
      if (!isAllowed() || pauseMs() > 0) return
      // They stay stored: a beacon has no answer. The next page sends them again.
      let names = waiting()
      for (let batch = nextBatch(names); batch; batch = nextBatch(names)) {
        const { names: sent, url, body } = batch
        if (!page.navigator.sendBeacon(url, body)) return
        names = names.filter((name) => !sent.includes(name))
      }
    },
  }
}
