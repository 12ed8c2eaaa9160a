import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClient } from './client.ts'
import { eventsIn, fakePage, fakeStorage, type Sent } from './fake-page.ts'
import { MAX_KEPT } from './queue.ts'
import { SESSION_MS } from './session.ts'
import type { Options } from './types.ts'

/** Lets the time of the test pass, and what waits for it run. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

const KEY = 'wm_pub_key'
const NOW = '2026-11-27T23:50:00.000Z'
const host = 'https://events.example'

const start = (choices: Parameters<typeof fakePage>[0] = {}, options: Partial<Options> = {}) => {
  const made = fakePage(choices)
  return { ...made, client: createClient(made.page, { key: KEY, host, ...options }) }
}
const answerWith = (...statuses: number[]) => {
  let at = 0
  return (): Response =>
    new Response('{}', { status: statuses[at++] ?? 202, headers: { 'Retry-After': '40' } })
}
const noNetwork = (): Response => {
  throw new TypeError('Failed to fetch')
}
const idsIn = (sent: readonly Sent[]) => eventsIn(sent).map(({ eventId }) => eventId)
const namesIn = (sent: readonly Sent[]) => eventsIn(sent).map(({ eventName }) => eventName)
const waitingIn = (storage: Storage) => Object.keys(storage).filter((name) => name.startsWith('wm.e.'))

beforeEach(() => {
  vi.useFakeTimers({ now: new Date(NOW) })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('an event', () => {
  it('is sent with visitor, session, address, entry and campaign', async () => {
    const url = 'https://shop.example/sale?utm_source=news&utm_medium=email'
    const { sent, client } = start({ url, referrer: 'https://mail.example/inbox' })
    client.track('order_placed', { total: 4990 })
    await pass(500)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.path).toBe('/api/v1/t')
    expect(sent[0]?.query.get('apiKey')).toBe(KEY)
    expect(sent[0]?.headers).toEqual({ 'Content-Type': 'text/plain' })
    expect(sent[0]?.body.sentAt).toBe('2026-11-27T23:50:00.500Z')
    const entry = {
      url,
      entry_page: '/sale',
      entry_referrer: 'https://mail.example/inbox',
      utm_source: 'news',
      utm_medium: 'email',
    }
    const common = { visitorId: expect.any(String), sessionId: expect.any(String), clientTimestamp: NOW }
    expect(eventsIn(sent)).toEqual([
      {
        ...common,
        eventId: expect.any(String),
        eventName: 'page_view',
        properties: { ...entry, title: 'Shop', referrer: 'https://mail.example/inbox' },
      },
      {
        ...common,
        eventId: expect.any(String),
        eventName: 'order_placed',
        properties: { ...entry, total: 4990 },
      },
    ])
    expect(new Set(idsIn(sent)).size).toBe(2)
    expect(new Set(eventsIn(sent).map(({ sessionId }) => sessionId)).size).toBe(1)
  })

  it('of a page that was opened by the history names the page before it', async () => {
    const { page, sent } = start()
    page.history.pushState(null, '', '/cart')
    page.history.replaceState(null, '', '/cart#total')
    page.history.replaceState(null, '', '/cart?step=2')
    await pass(500)
    expect(eventsIn(sent).map(({ properties }) => properties)).toMatchObject([
      { url: 'https://shop.example/' },
      { url: 'https://shop.example/cart', referrer: 'https://shop.example/' },
      { url: 'https://shop.example/cart?step=2', referrer: 'https://shop.example/cart' },
    ])
  })

  it('follows an identify call that was made before it', async () => {
    const { sent, client } = start()
    client.identify('user-1', { plan: 'pro' }, { userHash: 'proof' })
    client.track('order_placed')
    await pass(500)
    expect(sent.map(({ path }) => path)).toEqual(['/api/v1/t', '/api/v1/identify', '/api/v1/t'])
    const [view, order] = eventsIn(sent)
    expect(sent[1]?.body).toEqual({
      visitorId: view?.visitorId,
      userId: 'user-1',
      traits: { plan: 'pro' },
      userHash: 'proof',
    })
    expect([view?.userId, order?.userId]).toEqual([undefined, 'user-1'])
  })

  it('belongs to somebody else after a reset', async () => {
    const { sent, client } = start()
    client.identify('user-1')
    client.reset()
    client.track('late')
    await pass(500)
    const [view, late] = eventsIn(sent)
    expect(late?.userId).toBeUndefined()
    expect(late?.visitorId).not.toBe(view?.visitorId)
    expect(late?.sessionId).not.toBe(view?.sessionId)
  })
})

describe('a session', () => {
  const sessionsOf = (sent: readonly Sent[]) => eventsIn(sent).map(({ sessionId }) => sessionId)

  it('lasts over midnight, for 30 minutes after each event, and not longer', async () => {
    const { sent, client } = start({}, { pageViews: false })
    for (const wait of [0, SESSION_MS, SESSION_MS, SESSION_MS + 1]) {
      vi.setSystemTime(Date.now() + wait)
      client.track('step')
    }
    await pass(500)
    const [first, second, third, fourth] = sessionsOf(sent)
    expect([second, third]).toEqual([first, first])
    expect(fourth).not.toBe(first)
  })

  it('is over when the clock was set back by more than that', async () => {
    const { sent, client } = start({}, { pageViews: false })
    client.track('step')
    vi.setSystemTime(Date.now() - SESSION_MS - 1)
    client.track('step')
    await pass(500)
    expect(new Set(sessionsOf(sent)).size).toBe(2)
  })

  it('is the same in all tabs, and begins with another campaign only', async () => {
    const storage = fakeStorage()
    const sent: Sent[] = []
    for (const query of [
      '',
      '?utm_source=a',
      '?utm_source=a',
      '',
      '?utm_source=b',
      '?utm_source=b&gclid=1',
    ]) {
      const tab = start({ storage, url: `https://shop.example/${query}` })
      await pass(500)
      sent.push(...tab.sent)
    }
    const [none, a, again, inside, b, click] = sessionsOf(sent)
    expect([again, inside]).toEqual([a, a])
    expect(new Set([none, a, b, click]).size).toBe(4)
    expect(eventsIn(sent)[3]?.properties).toMatchObject({ utm_source: 'a' })
    expect(new Set(eventsIn(sent).map(({ visitorId }) => visitorId)).size).toBe(1)
  })
})

describe('messages', () => {
  it('are repeated with the same ids when there was no answer or an error of the server', async () => {
    let at = 0
    const { sent, client, storage } = start({
      answer: () => {
        at += 1
        if (at === 1) return noNetwork()
        return new Response('{}', { status: at === 2 ? 503 : 202 })
      },
    })
    await pass(500)
    client.track('later')
    await pass(1_000)
    await pass(2_000)
    expect(namesIn(sent)).toEqual(['page_view', 'page_view', 'later', 'page_view', 'later'])
    expect(new Set(idsIn(sent)).size).toBe(2)
    expect(waitingIn(storage)).toEqual([])
  })

  it('wait as long as Retry-After says, also on the next page', async () => {
    const first = start({ answer: answerWith(429) })
    await pass(500)
    await pass(20_000)
    expect(first.sent).toHaveLength(1)
    const next = start({ storage: first.storage, url: 'https://shop.example/next' })
    await pass(19_000)
    expect([first.sent, next.sent].map(({ length }) => length)).toEqual([1, 0])
    await pass(2_000)
    expect(new Set([...idsIn(first.sent), ...idsIn(next.sent)]).size).toBe(2)
    expect(waitingIn(first.storage)).toEqual([])
  })

  it('that the server calls invalid are not repeated', async () => {
    const { sent, client, storage } = start({ answer: answerWith(400) })
    await pass(500)
    client.track('valid')
    await pass(500)
    expect(namesIn(sent)).toEqual(['page_view', 'valid'])
    expect(waitingIn(storage)).toEqual([])
  })

  it('are handed to the browser when the page ends, and sent again by the next one', async () => {
    const { page, sent, beacons, storage } = start({ answer: noNetwork })
    await pass(100)
    page.dispatchEvent(new Event('pagehide'))
    expect([sent.length, namesIn(beacons)]).toEqual([0, ['page_view']])
    await pass(10_000)
    const next = start({ storage }, { pageViews: false })
    await pass(500)
    expect(idsIn(next.sent)).toEqual(idsIn(beacons))
    expect(waitingIn(storage)).toEqual([])
  })

  it('are sent as soon as there is a network again', async () => {
    let isOnline = false
    const { page, sent } = start({ answer: () => (isOnline ? new Response('{}') : noNetwork()) })
    await pass(500)
    await pass(60_000)
    const before = sent.length
    isOnline = true
    page.dispatchEvent(new Event('online'))
    await pass(0)
    expect(sent).toHaveLength(before + 1)
  })

  it('are at most 1 MB, of which the oldest are dropped', async () => {
    const { client, storage } = start({ answer: noNetwork }, { pageViews: false })
    const used = () =>
      waitingIn(storage).reduce(
        (sum, name) => sum + name.length - 'wm.'.length + (storage[name]?.length ?? 0),
        0,
      )
    client.track('first')
    const text = 'x'.repeat(MAX_KEPT - 2 * used() - 'text'.length - '"":"",'.length)
    client.track('large', { text })
    expect([waitingIn(storage).length, used()]).toEqual([2, MAX_KEPT])
    client.track('third')
    const kept = waitingIn(storage).map((name) => JSON.parse(storage[name])[1])
    expect(kept.map(({ eventName }) => eventName)).toEqual(['large', 'third'])
  })

  it('fit into what browsers send after a page has ended, and are at most 100', async () => {
    const { sent, client } = start({}, { pageViews: false })
    for (let n = 0; n < 101; n++) client.track('small')
    for (let n = 0; n < 3; n++) client.track('large', { text: 'é'.repeat(15_000) })
    await pass(500)
    const sizes = sent.map(({ body }) => (body.events as unknown[]).length)
    expect(sizes).toEqual([100, 2, 1, 1])
  })

  it('are kept in memory where storage is blocked', async () => {
    const made = fakePage({ answer: answerWith(503) })
    Object.defineProperty(made.page, 'localStorage', {
      get: () => {
        throw new DOMException('denied', 'SecurityError')
      },
    })
    const client = createClient(made.page, { key: KEY, host })
    client.track('step')
    await pass(500)
    await pass(40_000)
    expect(namesIn(made.sent)).toEqual(['page_view', 'step', 'page_view', 'step'])
    expect(new Set(eventsIn(made.sent).map(({ visitorId }) => visitorId)).size).toBe(1)
  })

  it('are kept in memory where storage is full', async () => {
    const storage = fakeStorage()
    Object.getPrototypeOf(storage).setItem = () => {
      throw new DOMException('full', 'QuotaExceededError')
    }
    const { sent, client } = start({ storage })
    client.track('step')
    await pass(500)
    expect(namesIn(sent)).toEqual(['page_view', 'step'])
  })
})

describe('consent', () => {
  it('that is pending sends and stores nothing, and is followed by what happened', async () => {
    const { page, sent, beacons, client, storage } = start({}, { consent: 'pending' })
    client.track('before')
    await pass(60_000)
    page.dispatchEvent(new Event('pagehide'))
    expect([sent, beacons, Object.keys(storage)]).toEqual([[], [], []])
    client.setConsent('granted')
    await pass(500)
    expect(namesIn(sent)).toEqual(['page_view', 'before'])
    const next = start({ storage }, { consent: 'pending' })
    await pass(500)
    expect(eventsIn(next.sent)[0]?.visitorId).toBe(eventsIn(sent)[0]?.visitorId)
  })

  it('that is denied deletes everything but the decision', async () => {
    const { sent, client, storage } = start({}, { consent: 'pending' })
    client.setConsent('denied')
    client.track('after')
    client.identify('user-1')
    await pass(60_000)
    expect(sent).toEqual([])
    expect({ ...storage }).toEqual({ 'wm.c': 'denied' })
    const next = start({ storage })
    await pass(500)
    expect(next.sent).toEqual([])
    expect({ ...storage }).toEqual({ 'wm.c': 'denied' })
  })

  it('that is withdrawn deletes what was stored', async () => {
    const { client, storage } = start({ answer: noNetwork })
    await pass(500)
    expect(Object.keys(storage).length).toBeGreaterThan(0)
    client.setConsent('denied')
    expect({ ...storage }).toEqual({ 'wm.c': 'denied' })
  })
})

describe('privacy', () => {
  it('without cookies nothing is stored, and the server makes the visitor', async () => {
    const { sent, client, storage } = start({}, { cookieless: true })
    client.track('step')
    await pass(500)
    expect(sent[0]?.query.get('cookieless')).toBe('1')
    expect(eventsIn(sent)).toEqual([
      {
        eventId: expect.any(String),
        eventName: 'page_view',
        clientTimestamp: NOW,
        properties: { url: 'https://shop.example/', title: 'Shop' },
      },
      {
        eventId: expect.any(String),
        eventName: 'step',
        clientTimestamp: NOW,
        properties: { url: 'https://shop.example/' },
      },
    ])
    expect(Object.keys(storage)).toEqual([])
  })

  it.each([{ doNotTrack: '1' }, { globalPrivacyControl: true }])(
    '%j is honoured if asked',
    async (navigator) => {
      const silent = start({ navigator }, { dnt: true })
      silent.client.track('step')
      silent.client.setConsent('granted')
      await pass(60_000)
      expect([silent.sent, Object.keys(silent.storage)]).toEqual([[], []])
      const { sent } = start({ navigator })
      await pass(500)
      expect(namesIn(sent)).toEqual(['page_view'])
    },
  )
})

describe('decisions', () => {
  const flags = [{ key: 'button', value: 'red', variant: 'new', metadata: { ruleId: 'rule-1' } }]
  const decideWith = (answer: () => Response) =>
    start(
      { answer: ({ path }) => (path.startsWith('/ofrep') ? answer() : new Response('{}')) },
      { pageViews: false },
    )
  const asked = (sent: readonly Sent[]) => sent.filter(({ path }) => path.startsWith('/ofrep'))

  it('are asked for once, and reported when they are used', async () => {
    const { sent, client } = decideWith(() => Response.json({ flags }))
    const [{ button, other }] = await Promise.all([
      client.decide(['button', 'other']),
      client.decide(['button']),
    ])
    await pass(1_000)
    expect(sent.map(({ path }) => path)).toEqual(['/ofrep/v1/evaluate/flags'])
    expect([button.value, button.variant, other.value, other.variant]).toEqual([
      'red',
      'new',
      undefined,
      undefined,
    ])
    expect((await client.decide(['button'])).button.value).toBe('red')
    await pass(1_000)
    expect(sent.map(({ path }) => path)).toEqual(['/ofrep/v1/evaluate/flags', '/api/v1/exposures'])
    expect(sent[1]?.body).toEqual({
      exposures: [
        {
          key: 'button',
          variant: 'new',
          ruleId: 'rule-1',
          visitorId: expect.any(String),
          at: '2026-11-27T23:50:01.000Z',
        },
      ],
    })
  })

  it('are kept for five minutes, and longer while there is no answer', async () => {
    let isOnline = true
    const { sent, client } = decideWith(() => (isOnline ? Response.json({ flags }) : noNetwork()))
    await client.decide(['button'])
    await pass(299_999)
    await client.decide(['button'])
    expect(asked(sent)).toHaveLength(1)
    isOnline = false
    await pass(1)
    const { button } = await client.decide(['button'])
    expect([asked(sent).length, button.value]).toEqual([2, 'red'])
  })

  it('of another person are asked for', async () => {
    const { sent, client } = decideWith(() => Response.json({ flags }))
    await client.decide(['button'])
    client.identify('user-1')
    await client.decide(['button'])
    expect(asked(sent).map(({ body }) => body.context)).toMatchObject([{}, { userId: 'user-1' }])
  })

  it('are not known without consent', async () => {
    const { sent, client } = start({}, { consent: 'pending' })
    expect((await client.decide(['button'])).button.value).toBeUndefined()
    expect(sent).toEqual([])
  })
})
