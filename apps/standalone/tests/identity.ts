import { randomUUID } from 'node:crypto'
import { type Constellation, eventually } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

type Json = { [field: string]: unknown }
type Reply = { status: number; body: Json }
type Profile = {
  id: string
  userId: string | null
  visitorIds: string[]
  traits: Json
  [field: string]: unknown
}

const TIMES = 1_000
const AT_ONCE = 20

/** Who people are and what is known of them, asserted on whichever way of running `start` begins. */
export const describeIdentity = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  }, 60_000)
  afterAll(() => waymark?.stop())

  const call = async (method: string, path: string, body?: unknown, headers = {}): Promise<Reply> => {
    const response = await waymark.request(path, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const identify = (visitorId: string, userId: string, traits?: Json, query = '') =>
    call('POST', `/api/v1/identify${query}`, { visitorId, userId, ...(traits && { traits }) })
  const putProfile = (body: unknown) => call('PUT', '/api/v1/profile', body)
  const track = (event: Json, query = '') => call('POST', `/api/v1/t${query}`, event)
  const manage = (resource: string) => call('GET', `/api/projects/${waymark.projectId}/${resource}`)
  const profilesOf = async (filter: 'userId' | 'visitorId', value: string): Promise<Profile[]> => {
    const { status, body } = await manage(`profiles?${filter}=${encodeURIComponent(value)}`)
    expect(status).toBe(200)
    expect(body.nextCursor).toBeNull()
    return body.data as Profile[]
  }
  const profileOf = async (filter: 'userId' | 'visitorId', value: string): Promise<Profile> => {
    const [profile] = await profilesOf(filter, value)
    if (!profile) throw new Error(`${value} has no profile`)
    return profile
  }
  const storedProfileId = (eventId: string) =>
    eventually(
      `${eventId} is stored`,
      async () => ((await manage(`events?eventId=${eventId}`)).body.data as Json[])[0]?.profileId as string,
      60_000,
    )
  const anEvent = (person: Json): { eventId: string; [field: string]: unknown } => ({
    eventName: 'page_view',
    eventId: randomUUID(),
    ...person,
  })
  const someone = () => ({ visitorId: `v-${randomUUID()}`, userId: `u-${randomUUID()}` })

  it(`shows an event the identify that was answered before it, ${TIMES} times under load`, async () => {
    const sent: { eventId: string; userId: string; n: number; profileId: string }[] = []
    const goThrough = async (n: number): Promise<void> => {
      // By turns: a visitor seen before, a new one, and one whose user is known already.
      const { visitorId, userId } = someone()
      if (n % 3 !== 1) await track(anEvent({ visitorId }), n % 2 ? '?sync=1' : '')
      if (n % 3 === 2) await track(anEvent({ userId }), '?sync=1')
      expect(await identify(visitorId, userId, { n })).toEqual({
        status: 202,
        body: { ok: true, dropped_keys: [] },
      })
      const profile = await profileOf('userId', userId)
      expect(profile).toMatchObject({ userId, visitorIds: [visitorId], traits: { n } })
      const event = anEvent(n % 5 === 0 ? { visitorId, userId } : { visitorId })
      const sync = n % 2 === 0
      expect((await track(event, sync ? '?sync=1' : '')).status).toBe(sync ? 200 : 202)
      const seen = { eventId: event.eventId, userId, n, profileId: profile.id }
      if (sync) expect(await storedProfileId(event.eventId)).toBe(profile.id)
      else sent.push(seen)
    }
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < TIMES) await goThrough(next++)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    for (const { eventId, profileId } of sent) expect(await storedProfileId(eventId)).toBe(profileId)
  }, 180_000)

  it('keeps a person’s history together when they log in', async () => {
    const { visitorId, userId } = someone()
    const before = anEvent({ visitorId, properties: { url: 'https://shop.example/?utm_source=news' } })
    await track(before, '?sync=1')
    await putProfile({ visitorId, traits: { plan: 'trial', theme: 'dark' } })
    const anonymous = await profileOf('visitorId', visitorId)
    expect(anonymous).toMatchObject({
      userId: null,
      visitorIds: [visitorId],
      traits: { plan: 'trial', theme: 'dark' },
      firstTouch: { eventId: before.eventId, utm: { source: 'news' } },
      lastTouch: { eventId: before.eventId },
    })

    await identify(visitorId, userId, { email: 'ann@example.com', theme: null })
    const known = await profileOf('userId', userId)
    expect(known).toMatchObject({
      id: anonymous.id,
      traits: { plan: 'trial', email: 'ann@example.com' },
      createdAt: anonymous.createdAt,
    })
    expect(known.traits).not.toHaveProperty('theme')

    const phone = `v-${randomUUID()}`
    await track(anEvent({ visitorId: phone }), '?sync=1')
    await putProfile({ visitorId: phone, traits: { plan: 'none', tablet: false } })
    const other = await profileOf('visitorId', phone)
    await identify(phone, userId, { plan: 'paid' })
    const merged = await profileOf('visitorId', phone)
    expect(merged.id).toBe(known.id)
    expect(merged.id).not.toBe(other.id)
    expect(new Set(merged.visitorIds)).toEqual(new Set([visitorId, phone]))
    expect(merged.traits).toEqual({ plan: 'paid', email: 'ann@example.com', tablet: false })

    const friend = `u-${randomUUID()}`
    await identify(phone, friend, undefined, '?sync=1')
    expect((await profileOf('visitorId', phone)).userId).toBe(friend)
    expect((await profileOf('userId', userId)).visitorIds).toEqual([visitorId])
    const after = anEvent({ visitorId: phone })
    await track(after)
    expect(await storedProfileId(after.eventId)).toBe((await profileOf('userId', friend)).id)
  })

  it('answers 200 when asked for synchronous handling', async () => {
    const { visitorId, userId } = someone()
    const done = { status: 200, body: { ok: true, dropped_keys: [] } }
    expect(await identify(visitorId, userId, {}, '?sync=1')).toEqual(done)
    const header = { 'X-Service-Sync': '1' }
    expect(await call('POST', '/api/v1/identify', { visitorId, userId }, header)).toEqual(done)
    expect(await call('POST', '/api/v1/identify', { visitorId, userId, traits: null })).toMatchObject({
      status: 202,
    })
  })

  it('writes a profile and answers all its traits', async () => {
    const { visitorId, userId } = someone()
    const created = await putProfile({ userId, traits: { plan: 'free', email: 7, $os: 'x', list: [1, 2] } })
    expect(created).toEqual({
      status: 200,
      body: {
        ok: true,
        profileId: expect.any(String),
        traits: { plan: 'free', list: [1, 2] },
        dropped_keys: ['email', '$os'],
      },
    })
    const changed = await putProfile({ userId, visitorId: null, traits: { plan: null, city: 'Bern' } })
    expect(changed.body).toMatchObject({ profileId: created.body.profileId })
    expect(changed.body.traits).toEqual({ city: 'Bern', list: [1, 2] })
    expect((await putProfile({ visitorId, traits: {} })).body).toMatchObject({ traits: {} })
    expect(await profilesOf('visitorId', visitorId)).toHaveLength(1)
  })

  it('tells a key that everybody can read in a page only the traits that it wrote', async () => {
    const { userId } = someone()
    await putProfile({ userId, traits: { phone: '0123', plan: 'free' } })
    const created = await call('POST', `/api/projects/${waymark.projectId}/api-keys`, {
      name: 'page',
      kind: 'pub',
      scopes: ['events:write'],
    })
    const page = { 'X-API-Key': created.body.key as string }
    const answer = async (traits: Json) =>
      (await call('PUT', '/api/v1/profile', { userId, traits }, page)).body.traits
    expect(await answer({})).toEqual({})
    expect(await answer({ plan: 'pro', theme: 'dark' })).toEqual({ plan: 'pro', theme: 'dark' })
    expect((await profileOf('userId', userId)).traits).toEqual({ phone: '0123', plan: 'pro', theme: 'dark' })
  })

  it('drops the traits that it must not keep', async () => {
    const { visitorId, userId } = someone()
    const long = 'x'.repeat(65)
    const body = `{"visitorId":"${visitorId}","userId":"${userId}","traits":{"ok":1,"$a":1,"_b":1,"__proto__":{"x":1},"constructor":1,"phone":5,"${long}":1}}`
    expect((await call('POST', '/api/v1/identify', body)).body).toEqual({
      ok: true,
      dropped_keys: ['$a', '_b', '__proto__', 'constructor', 'phone', long],
    })
    expect((await profileOf('userId', userId)).traits).toEqual({ ok: 1 })
  })

  const people = { visitorId: 'v-limits', userId: 'u-limits' }
  const traitsOf = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`
  const withTraits = (traits: string) =>
    `{"visitorId":"${people.visitorId}","userId":"${people.userId}","traits":${traits}}`

  it.each([
    ['POST', '/api/v1/identify', 202],
    ['PUT', '/api/v1/profile', 200],
  ])('%s %s takes traits of 8,192 bytes as sent and 2 levels, and no more', async (method, path, ok) => {
    const statusOf = async (traits: string) => (await call(method, path, withTraits(traits))).status
    expect(await statusOf(traitsOf(8_192))).toBe(ok)
    expect(await statusOf(traitsOf(8_193))).toBe(400)
    expect(await statusOf(`{"a":"${'é'.repeat(4_092)}"}`)).toBe(ok)
    expect(await statusOf(`{"a":"${'é'.repeat(4_092)}x"}`)).toBe(400)
    expect(await statusOf(`{"a":1${' '.repeat(8_185)}}`)).toBe(ok)
    expect(await statusOf(`{"a":1${' '.repeat(8_186)}}`)).toBe(400)
    expect(await statusOf(traitsOf(200_000))).toBe(400)
    expect(await statusOf('{"a":{"b":1},"c":[1,"x"]}')).toBe(ok)
    expect(await statusOf('{"a":{"b":{}}}')).toBe(400)
    expect(await statusOf('{"a":[[]]}')).toBe(400)
  })

  it.each([
    ['no JSON', '{"visitorId":'],
    ['an empty body', ''],
    ['no object', '[]'],
    ['no visitor', { userId: 'u' }],
    ['no user', { visitorId: 'v' }],
    ['a visitor that is null', { visitorId: null, userId: 'u' }],
    ['an empty user', { visitorId: 'v', userId: '' }],
    ['a user that is a bug', { visitorId: 'v', userId: 'undefined' }],
    ['a visitor that is a bug', { visitorId: '[object Object]', userId: 'u' }],
    ['a number for a user', { visitorId: 'v', userId: 7 }],
    ['a user of 201 characters', { visitorId: 'v', userId: 'u'.repeat(201) }],
    ['traits that are a list', { visitorId: 'v', userId: 'u', traits: [] }],
    ['traits that are text', { visitorId: 'v', userId: 'u', traits: 'x' }],
  ])('refuses an identify with %s', async (_what, body) => {
    const refused = await call('POST', '/api/v1/identify', body)
    expect(refused).toEqual({ status: 400, body: { error: expect.any(String) } })
  })

  it.each([
    ['nobody', { traits: {} }],
    ['no traits', { userId: 'u' }],
    ['traits that are null', { userId: 'u', traits: null }],
    ['a user that is a bug', { userId: 'null', traits: {} }],
  ])('refuses a profile write with %s', async (_what, body) => {
    expect(await putProfile(body)).toEqual({ status: 400, body: { error: expect.any(String) } })
  })

  it('checks the key before everything else', async () => {
    for (const [method, path] of [
      ['POST', '/api/v1/identify'],
      ['PUT', '/api/v1/profile'],
    ] as const) {
      expect((await call(method, path, '{', { 'X-API-Key': 'nonsense' })).status).toBe(401)
      expect((await call(method, path, '{', { 'Content-Type': 'text/plain' })).status).toBe(415)
    }
  })

  it('shows profiles of the key’s own project only, one at a time', async () => {
    const known = await putProfile({ userId: 'shown', traits: {} })
    expect(known.status).toBe(200)
    expect(await call('GET', `/api/projects/${randomUUID()}/profiles?userId=shown`)).toEqual({
      status: 404,
      body: { error: 'Not found' },
    })
    expect(await profilesOf('userId', `nobody-${randomUUID()}`)).toEqual([])
    for (const query of ['', '?userId=a&visitorId=b', '?userId=', '?userId=a&userId=b']) {
      const refused = await manage(`profiles${query}`)
      expect(refused.status).toBe(422)
      expect(refused.body.errors).toEqual([expect.objectContaining({ field: expect.any(String) })])
    }
  })
}
