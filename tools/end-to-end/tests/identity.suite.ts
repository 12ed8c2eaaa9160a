import { createHmac, randomUUID } from 'node:crypto'
import { type Constellation, eventually, extent, untilAvailable } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Json = { [field: string]: unknown }
type Reply = { status: number; body: Json }
type Profile = {
  id: string
  userId: string | null
  visitorIds: string[]
  traits: Json
  [field: string]: unknown
}

const TIMES = extent(20, 200)
const AT_ONCE = 20

/** Identities and profiles, for the deployment that `start` begins. */
export const describeIdentity = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const call = async (method: string, path: string, body?: unknown, headers = {}): Promise<Reply> => {
    const response = await untilAvailable(() =>
      waymark.request(path, {
        method,
        headers: { 'Content-Type': 'application/json', ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
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
    )
  const anEvent = (person: Json): { eventId: string; [field: string]: unknown } => ({
    eventName: 'page_view',
    eventId: randomUUID(),
    ...person,
  })
  const someone = () => ({ visitorId: `v-${randomUUID()}`, userId: `u-${randomUUID()}` })

  it(`applies an answered identify to the next event, ${TIMES} times under load`, async () => {
    const sent: { eventId: string; userId: string; n: number; profileId: string }[] = []
    const goThrough = async (n: number): Promise<void> => {
      // In turn: a known visitor, a new one, and one whose user is known.
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
  })

  it('keeps a person’s history after the sign-in', async () => {
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
    const onPhone = anEvent({ visitorId: phone })
    await track(onPhone, '?sync=1')
    await putProfile({ visitorId: phone, traits: { plan: 'none', tablet: false } })
    const other = await profileOf('visitorId', phone)
    await identify(phone, userId, { plan: 'paid' })
    const merged = await profileOf('visitorId', phone)
    expect(merged.id).toBe(known.id)
    expect(merged.id).not.toBe(other.id)
    expect(await storedProfileId(onPhone.eventId)).toBe(known.id)
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

  it('answers 200 for the synchronous path', async () => {
    const { visitorId, userId } = someone()
    const done = { status: 200, body: { ok: true, dropped_keys: [] } }
    expect(await identify(visitorId, userId, {}, '?sync=1')).toEqual(done)
    const header = { 'X-Service-Sync': '1' }
    expect(await call('POST', '/api/v1/identify', { visitorId, userId }, header)).toEqual(done)
    expect(await call('POST', '/api/v1/identify', { visitorId, userId, traits: null })).toMatchObject({
      status: 202,
    })
  })

  it('writes a profile and returns all its traits', async () => {
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

  describe('with a public key', () => {
    let page: { 'X-API-Key': string }

    beforeAll(async () => {
      const created = await call('POST', `/api/projects/${waymark.projectId}/api-keys`, {
        name: 'page',
        kind: 'pub',
        scopes: ['events:write'],
      })
      page = { 'X-API-Key': created.body.key as string }
    })

    const write = (body: Json) => call('PUT', '/api/v1/profile', body, page)
    const link = (body: Json) => call('POST', '/api/v1/identify', body, page)
    const change = async (settings: Json) => {
      const { status } = await call('PATCH', `/api/projects/${waymark.projectId}/settings`, settings)
      expect(status).toBe(200)
    }

    it('returns only what the request wrote', async () => {
      const { userId } = someone()
      await putProfile({ userId, traits: { phone: '0123', plan: 'free', ssn: '12-34' } })
      const answer = async (traits: Json) => (await write({ userId, traits })).body
      expect(await answer({})).toEqual({ ok: true, traits: {}, dropped_keys: [] })
      expect(await answer({ plan: 'pro', theme: 'dark', city: null })).toEqual({
        ok: true,
        traits: { plan: 'pro', theme: 'dark' },
        dropped_keys: [],
      })
      expect((await profileOf('userId', userId)).traits).toEqual({
        phone: '0123',
        plan: 'pro',
        theme: 'dark',
        ssn: '12-34',
      })
    })

    it('does not return the stored value of a dropped trait', async () => {
      const { userId } = someone()
      const known = { email: 'ann@example.com', phone: '0123', name: 'Ann' }
      await putProfile({ userId, traits: { ...known, ssn: '12-34' } })
      const dropped = { email: 1, phone: 1, name: 1 }
      const nothing = { ok: true, traits: {} }
      expect((await write({ userId, traits: dropped })).body).toEqual({
        ...nothing,
        dropped_keys: ['email', 'phone', 'name'],
      })
      await change({ deniedTraits: ['ssn'] })
      try {
        await eventually('the trait is denied', async () => {
          const { body } = await write({ userId: `u-${randomUUID()}`, traits: { ssn: 'x' } })
          return (body.dropped_keys as string[]).includes('ssn')
        })
        expect((await write({ userId, traits: { ssn: 'x' } })).body).toEqual({
          ...nothing,
          dropped_keys: ['ssn'],
        })
      } finally {
        await change({ deniedTraits: [] })
      }
    })

    it('does not replace an email or phone that a secret key has set', async () => {
      const { userId, visitorId } = someone()
      const known = { email: 'ann@example.com', phone: '0123' }
      await putProfile({ userId, traits: known })
      const forged = { email: 'eve@example.com', phone: null, plan: 'x' }
      expect((await write({ userId, traits: forged })).body).toEqual({
        ok: true,
        traits: { plan: 'x' },
        dropped_keys: ['email', 'phone'],
      })
      expect(await link({ visitorId, userId, traits: { ...forged, plan: 'y' } })).toEqual({
        status: 202,
        body: { ok: true, dropped_keys: ['email', 'phone'] },
      })
      expect((await profileOf('visitorId', visitorId)).traits).toEqual({ ...known, plan: 'y' })
      expect((await write({ visitorId, traits: forged })).body.dropped_keys).toEqual(['email', 'phone'])
      await putProfile({ userId, traits: { email: 'new@example.com' } })
      expect((await profileOf('userId', userId)).traits).toMatchObject({ email: 'new@example.com' })
    })

    it('does not replace them by linking a visitor either', async () => {
      // The anonymous profile is merged into the user's.
      const merged = someone()
      await putProfile({ userId: merged.userId, traits: { email: 'ann@example.com' } })
      await write({ visitorId: merged.visitorId, traits: { email: 'eve@example.com' } })
      await link(merged)
      expect((await profileOf('userId', merged.userId)).traits).toEqual({ email: 'ann@example.com' })
      // The user takes over the visitor's profile.
      const taken = someone()
      await putProfile({ visitorId: taken.visitorId, traits: { email: 'bob@example.com' } })
      expect((await link({ ...taken, traits: { email: 'eve@example.com' } })).body.dropped_keys).toEqual([
        'email',
      ])
      expect((await profileOf('userId', taken.userId)).traits).toEqual({ email: 'bob@example.com' })
      // Traits from the server take precedence over later ones from the browser.
      const both = someone()
      await write({ userId: both.userId, traits: { email: 'eve@example.com' } })
      await putProfile({ visitorId: both.visitorId, traits: { email: 'cat@example.com' } })
      expect((await link({ ...both, traits: { email: 'eve@example.com' } })).body.dropped_keys).toEqual([
        'email',
      ])
      expect((await profileOf('userId', both.userId)).traits).toEqual({ email: 'cat@example.com' })
    })

    it('changes what only public keys have set', async () => {
      const { userId, visitorId } = someone()
      await link({ visitorId, userId, traits: { email: 'ann@example.com' } })
      expect((await write({ userId, traits: { email: 'new@example.com' } })).body).toEqual({
        ok: true,
        traits: { email: 'new@example.com' },
        dropped_keys: [],
      })
      expect((await profileOf('userId', userId)).traits).toEqual({ email: 'new@example.com' })
    })

    describe('and a user hash', () => {
      const secretPath = () => `/api/projects/${waymark.projectId}/identity-secret`
      const hashOf = (userId: string, secret: unknown) =>
        createHmac('sha256', String(secret)).update(userId).digest('hex')
      let secret: unknown

      beforeAll(async () => {
        const shown = await call('GET', secretPath())
        expect(shown).toEqual({
          status: 200,
          body: { secret: expect.stringMatching(/^[\w-]{43}$/), createdAt: expect.any(String) },
        })
        expect(await call('GET', secretPath())).toEqual(shown)
        secret = shown.body.secret
        await eventually('the gateway knows the secret', async () => {
          const userId = `u-${randomUUID()}`
          return (await write({ userId, traits: {}, userHash: hashOf(userId, secret) })).status === 200
        })
      })

      it('changes everything of that user', async () => {
        const { userId, visitorId } = someone()
        await putProfile({ userId, traits: { email: 'ann@example.com', phone: '0123' } })
        const userHash = hashOf(userId, secret)
        expect((await write({ userId, userHash, traits: { email: 'new@example.com' } })).body).toMatchObject({
          traits: { email: 'new@example.com' },
          dropped_keys: [],
        })
        expect((await link({ visitorId, userId, userHash, traits: { phone: null } })).body).toEqual({
          ok: true,
          dropped_keys: [],
        })
        expect((await profileOf('visitorId', visitorId)).traits).toEqual({ email: 'new@example.com' })
        // Verified traits are protected from unverified writes.
        expect((await write({ userId, traits: { email: 'eve@example.com' } })).body.dropped_keys).toEqual([
          'email',
        ])
      })

      it('is refused when the hash is wrong', async () => {
        const { userId, visitorId } = someone()
        for (const userHash of [hashOf('other', secret), hashOf(userId, 'other'), '', 'x']) {
          const refused = { status: 403, body: { error: expect.stringContaining('userHash') } }
          expect(await write({ userId, userHash, traits: { plan: 'x' } })).toEqual(refused)
          expect(await link({ visitorId, userId, userHash })).toEqual(refused)
          expect(await putProfile({ userId, userHash, traits: {} })).toEqual(refused)
        }
        expect((await write({ userId, userHash: 7, traits: {} })).status).toBe(400)
        expect((await write({ visitorId, userHash: 'x', traits: {} })).status).toBe(400)
        expect(await profilesOf('userId', userId)).toEqual([])
      })

      it('must have a hash where the project requires it', async () => {
        await change({ identityVerification: 'required' })
        try {
          const refused = { status: 403, body: { error: expect.stringContaining('userHash') } }
          await eventually('it is required', async () => {
            const { status } = await write({ userId: `u-${randomUUID()}`, traits: {} })
            return status === 403
          })
          const { userId, visitorId } = someone()
          expect(await write({ userId, traits: {} })).toEqual(refused)
          expect(await write({ userId, userHash: null, traits: {} })).toEqual(refused)
          expect(await link({ visitorId, userId })).toEqual(refused)
          expect((await write({ visitorId, traits: { plan: 'x' } })).status).toBe(200)
          const userHash = hashOf(userId, secret)
          expect((await link({ visitorId, userId, userHash })).status).toBe(202)
          expect((await identify(`v-${randomUUID()}`, userId)).status).toBe(202)
          expect((await putProfile({ userId, traits: {} })).status).toBe(200)
        } finally {
          await change({ identityVerification: 'optional' })
        }
        await eventually('it is optional', async () => {
          const { status } = await write({ userId: `u-${randomUUID()}`, traits: {} })
          return status === 200
        })
      })

      it('is refused with a hash by a replaced secret', async () => {
        const rotated = await call('POST', `${secretPath()}/rotate`)
        expect(rotated).toMatchObject({ status: 200, body: { secret: expect.any(String) } })
        expect(rotated.body.secret).not.toBe(secret)
        const old = secret
        secret = rotated.body.secret
        expect((await call('GET', secretPath())).body).toEqual(rotated.body)
        expect(JSON.stringify(await manage('settings'))).not.toContain(String(secret))
        const { userId } = someone()
        const statusWith = async (by: unknown) =>
          (await write({ userId, userHash: hashOf(userId, by), traits: {} })).status
        await eventually('the new secret is known', async () => (await statusWith(secret)) === 200)
        expect(await statusWith(old)).toBe(403)
      })
    })
  })

  it('drops traits that the project denies', async () => {
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
  ])('%s %s accepts traits of 8,192 bytes as sent and 2 levels, and no more', async (method, path, ok) => {
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

  it('stores at most 65,536 bytes of traits per profile', async () => {
    const { visitorId, userId } = someone()
    const filler = 'x'.repeat(8_000)
    for (let n = 0; n < 8; n++) await putProfile({ userId, traits: { [`t${n}`]: filler } })
    const { traits } = await profileOf('userId', userId)
    // The name, quotes, colon and comma of another trait take 7 bytes.
    const room = 65_536 - Buffer.byteLength(JSON.stringify(traits)) - 7
    const refused = { status: 400, body: { error: expect.stringMatching(/traits.*65,?536 bytes/) } }
    const one = { z: 'x'.repeat(room) }
    expect(await putProfile({ userId, traits: { z: `${one.z}x` } })).toEqual(refused)
    expect(await identify(visitorId, userId, { z: `${one.z}x` })).toEqual(refused)
    expect(await profilesOf('visitorId', visitorId)).toEqual([])
    expect((await putProfile({ userId, traits: one })).status).toBe(200)
    const full = (await profileOf('userId', userId)).traits
    expect(Buffer.byteLength(JSON.stringify(full))).toBe(65_536)
    expect(await putProfile({ userId, traits: { more: 1 } })).toEqual(refused)
    expect((await putProfile({ userId, traits: { t0: null, more: 1 } })).status).toBe(200)
  })

  it('enforces it under merges and concurrent writes', async () => {
    const { visitorId, userId } = someone()
    const filler = 'x'.repeat(8_000)
    const sizeOf = async () => Buffer.byteLength(JSON.stringify((await profileOf('userId', userId)).traits))
    await Promise.all(
      Array.from({ length: 12 }, (_, n) => putProfile({ userId, traits: { [`u${n}`]: filler } })),
    )
    const before = await sizeOf()
    expect(before).toBeGreaterThan(56_000)
    expect(before).toBeLessThanOrEqual(65_536)
    for (const [name, value] of [['small', 1] as const, ['v0', filler] as const, ['v1', filler] as const])
      await putProfile({ visitorId, traits: { [name]: value } })
    expect((await identify(visitorId, userId, { plan: 'pro' })).status).toBe(202)
    const merged = await profileOf('visitorId', visitorId)
    expect(merged).toMatchObject({ userId, traits: { plan: 'pro', small: 1 } })
    expect(await sizeOf()).toBeLessThanOrEqual(65_536)
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

  it('checks the key first', async () => {
    for (const [method, path] of [
      ['POST', '/api/v1/identify'],
      ['PUT', '/api/v1/profile'],
    ] as const) {
      expect((await call(method, path, '{', { 'X-API-Key': 'nonsense' })).status).toBe(401)
      expect((await call(method, path, '{', { 'Content-Type': 'text/plain' })).status).toBe(415)
    }
  })

  it('returns one profile at a time, only of the key’s project', async () => {
    const known = await putProfile({ userId: 'shown', traits: {} })
    expect(known.status).toBe(200)
    expect(await call('GET', `/api/projects/${randomUUID()}/profiles?userId=shown`)).toEqual({
      status: 404,
      body: { error: 'Not found' },
    })
    expect(await profilesOf('userId', `nobody-${randomUUID()}`)).toEqual([])
    for (const query of [
      '',
      '?userId=a&visitorId=b',
      '?userId=',
      '?userId=a&userId=b',
      '?search=',
      '?search=a&userId=a',
      '?filters=[',
      '?filters=[{"property":"eventName","op":"exists"}]',
      '?search=a&cursor=b',
    ]) {
      const refused = await manage(`profiles${query}`)
      expect(refused.status).toBe(422)
      expect(refused.body.errors).toEqual([expect.objectContaining({ field: expect.any(String) })])
    }
  })

  it('finds people by id, by email address and by traits, page by page, without erased ones', async () => {
    const run = randomUUID().slice(0, 8)
    const email = (n: number) => `Ann-${run}-${n}@shop.example`
    const people: string[] = []
    for (let n = 0; n < 5; n++) {
      const traits = { email: email(n), plan: n < 2 ? 'free' : 'pro', run, age: 20 + n }
      await putProfile({ userId: `search-${run}-${n}`, traits })
      people.push((await profileOf('userId', `search-${run}-${n}`)).id)
    }
    const newestFirst = people.toSorted().reverse()
    const search = async (query: Record<string, string>): Promise<string[]> => {
      const ids: string[] = []
      let cursor: string | null = null
      do {
        const parameters = new URLSearchParams({ limit: '2', ...query, ...(cursor && { cursor }) })
        const { status, body } = await manage(`profiles?${parameters}`)
        expect([status, body.errors]).toEqual([200, undefined])
        const data = body.data as Profile[]
        expect(data.length).toBeLessThanOrEqual(2)
        ids.push(...data.map(({ id }) => id))
        cursor = body.nextCursor as string | null
      } while (cursor !== null)
      return ids
    }
    const filtersOf = (...filters: object[]) => ({
      filters: JSON.stringify([{ property: 'traits.run', op: 'eq', value: run }, ...filters]),
    })
    // Traits reach the event store a moment later.
    await eventually('all are found', async () => (await search({ search: `ann-${run}` })).length === 5)
    expect(await search({ search: `ANN-${run}-`.toLowerCase() })).toEqual(newestFirst)
    expect(await search({ search: email(3).toUpperCase() })).toEqual([people[3]])
    expect(await search({ search: `search-${run}-1` })).toEqual([people[1]])
    expect(await search({ search: people[4] ?? '' })).toEqual([people[4]])
    expect(await search({ search: `nn-${run}` })).toEqual([])
    expect(await search({ search: `ann-${run}-%` })).toEqual([])
    expect(await search(filtersOf())).toEqual(newestFirst)
    const pro = { property: 'traits.plan', op: 'eq', value: 'pro' }
    expect(await search(filtersOf(pro))).toEqual(newestFirst.filter((id) => people.indexOf(id) >= 2))
    const old = { property: 'traits.age', op: 'gte', value: 23 }
    expect(await search(filtersOf(pro, old))).toEqual(newestFirst.filter((id) => people.indexOf(id) >= 3))
    expect(await search({ search: email(0), ...filtersOf(pro) })).toEqual([])
    expect(await search({ search: `search-${run}-0`, ...filtersOf(pro) })).toEqual([])

    await putProfile({ userId: `search-${run}-3`, traits: { plan: 'free' } })
    const stillPro = newestFirst.filter((id) => [2, 4].includes(people.indexOf(id)))
    expect(await search(filtersOf(pro))).toEqual(stillPro)
    const erased = await call('DELETE', `/api/projects/${waymark.projectId}/profiles/${people[4]}`)
    expect(erased.status).toBe(202)
    expect(await search({ search: `ann-${run}` })).toEqual(newestFirst.filter((id) => id !== people[4]))
    expect(await search({ search: people[4] ?? '' })).toEqual([])
  })

  it('finds people who have only events by a trait that they lack', async () => {
    const visitorId = `only-events-${randomUUID()}`
    const event = { eventName: 'seen', visitorId, eventId: randomUUID() }
    expect((await call('POST', '/api/v1/t?sync=1', event)).status).toBe(200)
    const { id } = await profileOf('visitorId', visitorId)
    const found = async (...filters: object[]): Promise<boolean> => {
      let cursor: string | null = ''
      do {
        const parameters = new URLSearchParams({ limit: '100', filters: JSON.stringify(filters) })
        if (cursor) parameters.set('cursor', cursor)
        const { status, body } = await manage(`profiles?${parameters}`)
        expect([status, body.errors]).toEqual([200, undefined])
        if ((body.data as Profile[]).some((profile) => profile.id === id)) return true
        cursor = body.nextCursor as string | null
      } while (cursor !== null)
      return false
    }
    const lacksPlan = { property: 'traits.plan', op: 'not_exists' }
    expect(await found(lacksPlan)).toBe(true)
    expect(await found(lacksPlan, { property: 'traits.plan', op: 'neq', value: 'pro' })).toBe(true)
    expect(await found(lacksPlan, { property: 'traits.email', op: 'exists' })).toBe(false)
  })
}
