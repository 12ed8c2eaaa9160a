import { randomUUID } from 'node:crypto'
import { type Constellation, createClient, eventually, extent, type Json } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

const TIMES = extent(8, 20)

type Decided = { key: string; variant: string; value: unknown; reason: string; ruleId: string | null }

/** Decisions as people see them, for the deployment that `start` begins. */
export const describeDecisions = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const { call, manage, meter } = createClient(() => waymark)
  const decide = async (body: Json): Promise<Decided[]> => {
    const reply = await call('POST', '/api/v1/decide', body)
    expect(reply).toMatchObject({ status: 200 })
    return reply.body.decisions as Decided[]
  }
  const one = async (key: string, person: Json): Promise<Decided> => {
    const [decided] = await decide({ ...person, keys: [key] })
    if (!decided) throw new Error(`nothing was decided for ${key}`)
    return decided
  }
  // A response that is not marked as degraded must be right. A busy machine may return degraded ones, which may give another
  // variant and count as exposures too. So the person is first read for a key that does not exist: it keeps one variant then.
  const sure = async (wanted: string, person: Json): Promise<Decided> => {
    const decideInTime = async (key: string) => {
      const { body } = await call('POST', '/api/v1/decide', { ...person, keys: [key] })
      return body.degraded !== true && (body.decisions as Decided[])[0]
    }
    await eventually('the person is read in time', () => decideInTime('nobody-knows'))
    return eventually('an answer that is not degraded', () => decideInTime(wanted))
  }
  const create = async (decision: Json): Promise<string> => {
    const key = `d-${randomUUID()}`
    const { status, body } = await manage('POST', 'decisions', { key, status: 'active', ...decision })
    expect(body).toMatchObject({ key, version: 1 })
    expect(status).toBe(201)
    const known = async () => (await one(key, { visitorId: 'probe' })).reason !== 'ERROR'
    await eventually('every process knows it', known)
    return key
  }
  const halves = {
    variants: [
      { key: 'control', value: 'old' },
      { key: 'treatment', value: { color: 'red' } },
    ],
    fallbackVariant: 'control',
    rules: [
      {
        split: [
          { variant: 'control', weight: 1 },
          { variant: 'treatment', weight: 1 },
        ],
      },
    ],
  }

  it('applies a change at once when its version is requested', async () => {
    await decide({ visitorId: 'probe' })
    for (const value of ['first', 'second']) {
      const key = `d-${randomUUID()}`
      const written = await waymark.request(`/api/projects/${waymark.projectId}/decisions`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          ...halves,
          key,
          status: 'active',
          variants: [{ key: 'control', value }],
          rules: [],
        }),
      })
      expect(written.status).toBe(201)
      const version = written.headers.get('X-Config-Version') ?? ''
      expect(version).toMatch(/^\d+$/)
      const decided = await waymark.request('/api/v1/decide', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Config-Version': version },
        body: JSON.stringify({ visitorId: 'probe', keys: [key] }),
      })
      expect(await decided.json()).toMatchObject({ decisions: [{ key, value }] })
    }
  })

  it('keeps the variant of an anonymous visitor after the sign-in, and counts exposure and conversion', async () => {
    const eventName = `bought-${randomUUID()}`
    await meter({ eventName })
    const key = await create(halves)
    const converting = async (visitorId: string) => {
      const reply = await call('POST', '/api/v1/t', { eventName, visitorId, eventId: randomUUID() })
      expect(reply.status).toBe(202)
    }
    // One person for each variant. By user id alone they might get the other one.
    const seen = new Map<string, string>()
    while (seen.size < 2) {
      const visitorId = `v-${randomUUID()}`
      const { variant, reason, ruleId } = await sure(key, { visitorId })
      expect(reason).toBe('SPLIT')
      expect(ruleId).toEqual(expect.any(String))
      seen.set(variant, visitorId)
    }
    for (const [variant, visitorId] of seen) {
      const userId = `u-${randomUUID()}`
      await call('POST', '/api/v1/t?sync=1', { eventName: 'page_view', visitorId })
      expect((await call('POST', '/api/v1/identify', { visitorId, userId })).status).toBe(202)
      expect((await sure(key, { userId })).variant).toBe(variant)
      expect((await sure(key, { visitorId, userId })).variant).toBe(variant)
      expect((await sure(key, { visitorId })).variant).toBe(variant)
    }
    await converting(seen.get('treatment') ?? '')
    const stats = await eventually('exposures and the conversion are counted', async () => {
      const { body } = await manage('GET', `decisions/${key}/stats`)
      const variants = body.variants as { variant: string; people: number; converted: number }[]
      const treatment = variants.find(({ variant }) => variant === 'treatment')
      return treatment?.converted === 1 && variants.every(({ people }) => people > 0) && body
    })
    expect(stats).toMatchObject({ control: 'control', mixed: 0 })
  })

  it(`applies an identify and a profile write before the response, ${TIMES} times`, async () => {
    const key = await create(halves)
    const targeted = await create({
      ...halves,
      rules: [{ condition: { '==': [{ var: 'traits.plan' }, 'pro'] }, variant: 'treatment' }],
    })
    const ok = async (method: string, path: string, body: Json) =>
      expect((await call(method, path, body)).status).toBeLessThan(300)
    const goThrough = async (): Promise<void> => {
      // A visitor and a user with different variants, both known and cached.
      const [visitorId, userId] = [`v-${randomUUID()}`, `u-${randomUUID()}`]
      await ok('PUT', '/api/v1/profile', { visitorId, traits: {} })
      await ok('PUT', '/api/v1/profile', { userId, traits: { plan: 'free' } })
      const before = await sure(key, { visitorId })
      const users = await sure(key, { userId })
      if (before.variant === users.variant) return goThrough()
      expect((await sure(targeted, { userId })).reason).toBe('DEFAULT')

      await ok('POST', '/api/v1/identify', { visitorId, userId })
      expect((await sure(key, { visitorId })).variant).toBe(users.variant)
      expect((await sure(key, { visitorId, userId })).variant).toBe(users.variant)
      await ok('PUT', '/api/v1/profile', { userId, traits: { plan: 'pro' } })
      expect((await sure(targeted, { userId })).reason).toBe('TARGETING_MATCH')
      expect((await sure(targeted, { visitorId })).reason).toBe('TARGETING_MATCH')
      await ok('POST', '/api/v1/identify', { visitorId, userId, traits: { plan: null } })
      expect((await sure(targeted, { userId })).reason).toBe('DEFAULT')
    }
    for (let n = 0; n < TIMES; n++) await goThrough()
  })

  it('replays what people were given, person by person', async () => {
    const [viewed, asked] = [`viewed-${randomUUID()}`, `asked-${randomUUID()}`]
    const key = await create({
      ...halves,
      rules: [
        { id: 'pro', condition: { '==': [{ var: 'traits.plan' }, 'pro'] }, variant: 'treatment' },
        {
          id: 'often',
          condition: { '>=': [{ var: `counts.${viewed}.7d` }, 2] },
          split: [
            { variant: 'control', weight: 1 },
            { variant: 'treatment', weight: 1 },
          ],
        },
      ],
    })
    const sent = async (path: string, body: Json) =>
      expect((await call('POST', path, { ...body, eventId: randomUUID() })).status).toBeLessThan(300)
    // Person 6 is known by two visitors, and person 7 is erased.
    const plans = ['pro', 'free', 'free', 'free', 'free', 'free', 'pro', 'pro']
    const given = await Promise.all(
      plans.map(async (plan, n) => {
        const visitorId = `v-${randomUUID()}`
        const userId = `u-${randomUUID()}`
        const traits = { plan, name: `n${n}` }
        expect((await call('POST', '/api/v1/identify?sync=1', { visitorId, userId, traits })).status).toBe(
          200,
        )
        for (let view = 0; view < n % 4; view++) await sent('/api/v1/t', { eventName: viewed, visitorId })
        const profileId = await eventually('all views are counted', async () => {
          const { body } = await manage('POST', `decisions/${key}/preview`, { visitorId })
          return (body.counts as Record<string, Json>)[viewed]?.['7d'] === n % 4 && String(body.profileId)
        })
        const { variant, reason, ruleId } = await sure(key, { visitorId })
        await sent('/api/v1/t', { eventName: asked, visitorId })
        if (n === 6) {
          const other = `v-${randomUUID()}`
          await sent('/api/v1/t', { eventName: asked, visitorId: other })
          await call('POST', '/api/v1/identify?sync=1', { visitorId: other, userId })
        }
        return { profileId, variant, outcome: `${variant} ${reason} ${ruleId}` }
      }),
    )
    expect((await manage('DELETE', `profiles/${given[7]?.profileId}`)).status).toBeLessThan(300)
    const kept = given.slice(0, 7)
    const backtest = async (more: Json = {}) => {
      const body = { days: 1, eventName: asked, ...more }
      const reply = await manage('POST', `decisions/${key}/backtest`, body)
      expect([reply.status, reply.body.error]).toEqual([200, undefined])
      return reply.body
    }
    type Replayed = { variant: string; sample: string[]; outcomes: { people: number }[] } & Json
    const replayed = await eventually(
      'all events are stored, and merges and the erasure are known',
      async () => {
        const body = await backtest()
        return body.people === 7 && body.replayed === 7 && body.evaluations === 8 && body
      },
    )
    const variants = replayed.variants as Replayed[]
    for (const { variant, people, sample } of variants) {
      const expected = kept.filter((one) => one.variant === variant).map(({ profileId }) => profileId)
      expect(people).toBe(expected.length)
      expect(sample).toHaveLength(Math.min(5, expected.length))
      expect(expected).toEqual(expect.arrayContaining(sample))
    }
    const outcomes = variants.flatMap(({ variant, outcomes }) =>
      outcomes.flatMap(({ reason, ruleId, people }: Json) =>
        Array.from({ length: Number(people) }, () => `${variant} ${reason} ${ruleId}`),
      ),
    )
    expect(outcomes.sort()).toEqual(kept.map(({ outcome }) => outcome).sort())

    const everyone = await backtest({ definition: { ...halves, rules: [{ variant: 'treatment' }] } })
    expect(everyone.variants).toMatchObject([
      { people: 0 },
      { variant: 'treatment', people: 7, evaluations: 8 },
    ])
    expect((await manage('GET', `decisions/${key}`)).body).toMatchObject({ version: 1, rules: [{}, {}] })
  })

  it('answers each key: fallback without a rule, DISABLED when paused, ERROR when unknown', async () => {
    const key = await create({ ...halves, rules: [] })
    expect(await decide({ visitorId: 'v', keys: [key, 'nobody-knows'] })).toEqual([
      {
        key,
        variant: 'control',
        value: 'old',
        reason: 'DEFAULT',
        ruleId: null,
        decisionId: expect.any(String),
      },
      { key: 'nobody-knows', variant: null, value: null, reason: 'ERROR', ruleId: null, decisionId: null },
    ])
    expect((await manage('POST', `decisions/${key}/pause`)).body).toMatchObject({
      status: 'paused',
      version: 2,
    })
    await eventually('it is paused', async () => (await one(key, { visitorId: 'v' })).reason === 'DISABLED')
    const all = await decide({ visitorId: 'v' })
    expect(all.map((decided) => decided.key)).not.toContain(key)
  })

  it('evaluates conditions on traits, context and counts', async () => {
    const eventName = `visited-${randomUUID()}`
    const key = await create({
      ...halves,
      rules: [
        {
          id: 'asked',
          condition: {
            and: [
              { '==': [{ var: 'traits.plan' }, 'pro'] },
              { '==': [{ var: 'context.page' }, 'pricing'] },
              { '>=': [{ var: `counts.${eventName}.7d` }, 2] },
            ],
          },
          variant: 'treatment',
        },
      ],
    })
    const visitorId = `v-${randomUUID()}`
    await call('PUT', '/api/v1/profile', { visitorId, traits: { plan: 'pro' } })
    for (let n = 0; n < 2; n++)
      await call('POST', '/api/v1/t', { eventName, visitorId, eventId: randomUUID() })
    await eventually(
      'all of it holds',
      async () => (await one(key, { visitorId, context: { page: 'pricing' } })).reason === 'TARGETING_MATCH',
    )
    expect((await one(key, { visitorId, context: { page: 'home' } })).reason).toBe('DEFAULT')
    const { body } = await manage('POST', `decisions/${key}/preview`, {
      visitorId,
      context: { page: 'home' },
    })
    expect(body).toMatchObject({
      subject: visitorId,
      answer: { reason: 'DEFAULT' },
      counts: { [eventName]: { '7d': 2 } },
      rules: [{ id: 'asked', condition: false, variant: null }],
    })
  })

  it('answers a key by the status and rules of its environment, also over OFREP', async () => {
    const { body } = await manage('POST', 'api-keys', {
      name: 'Staging',
      kind: 'pub',
      scopes: ['decide'],
      environment: 'staging',
    })
    const inStaging = async (path: string, request: Json) => {
      const response = await waymark.request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': String(body.key) },
        body: JSON.stringify(request),
      })
      return { status: response.status, body: (await response.json()) as Json }
    }
    const key = await create({
      ...halves,
      rules: [{ variant: 'control' }],
      environments: { staging: { status: 'active', rules: [{ variant: 'treatment' }] } },
    })
    const stagingReason = async () => {
      const reply = await inStaging('/api/v1/decide', { visitorId: 'v', keys: [key] })
      const [decided] = (reply.body.decisions ?? []) as Decided[]
      return [decided?.variant, decided?.reason]
    }
    await eventually(
      'the key and the decision are known',
      async () => (await stagingReason())[0] === 'treatment',
    )
    expect(await one(key, { visitorId: 'v' })).toMatchObject({ variant: 'control' })
    const flag = () => inStaging(`/ofrep/v1/evaluate/flags/${key}`, { context: { targetingKey: 'v' } })
    expect(await flag()).toMatchObject({ status: 200, body: { variant: 'treatment' } })

    await manage('POST', `decisions/${key}/pause?environment=staging`)
    await eventually('it is off', async () => (await stagingReason())[1] === 'DISABLED')
    await eventually('it is off over OFREP', async () => (await flag()).body.reason === 'DISABLED')
    expect(await one(key, { visitorId: 'v' })).toMatchObject({
      variant: 'control',
      reason: 'TARGETING_MATCH',
    })
  })

  it('refuses an invalid decision with the reason', async () => {
    const { status, body } = await manage('POST', 'decisions', {
      key: `d-${randomUUID()}`,
      ...halves,
      fallbackVariant: 'nope',
      rules: [{ variant: 'nope', condition: { explode: [1] } }],
    })
    expect(status).toBe(422)
    expect((body.errors as Json[]).map(({ field }) => field)).toEqual([
      'fallbackVariant',
      'rules.0.variant',
      'rules.0.condition',
    ])
  })

  it('keeps every version, changes only the newest, and rolls back', async () => {
    const key = await create(halves)
    const rules = [{ rollout: 10, variant: 'treatment' }]
    const changed = await manage('PUT', `decisions/${key}`, { ...halves, rules, version: 1 })
    expect(changed).toMatchObject({
      status: 200,
      body: { version: 2, warnings: [{ code: 'weights_changed' }] },
    })
    const [before] = ((await manage('GET', `decisions/${key}/history`)).body.data as Json[]).slice(-1)
    const idsOf = (decision: Json | undefined) => (decision?.rules as Json[] | undefined)?.map(({ id }) => id)
    expect(idsOf(changed.body)).toEqual(idsOf(before))

    const stale = await manage('PATCH', `decisions/${key}`, { holdout: 5, version: 1 })
    expect(stale).toMatchObject({ status: 412, body: { error: expect.stringContaining('2') } })
    const patched = await manage('PATCH', `decisions/${key}`, { holdout: 5, version: 2 })
    expect(patched.body).toMatchObject({ version: 3, holdout: 5, rules: [{ rollout: 10 }] })
    expect(patched.body).not.toHaveProperty('warnings')

    const back = await manage('POST', `decisions/${key}/rollback`, { version: 1 })
    expect(back.body).toMatchObject({ version: 4, holdout: 0, status: 'active', rules: before?.rules })
    expect((await manage('POST', `decisions/${key}/rollback`, { version: 99 })).status).toBe(422)

    await manage('POST', `decisions/${key}/archive`)
    expect((await manage('POST', `decisions/${key}/activate`)).status).toBe(409)
    expect((await manage('PATCH', `decisions/${key}`, { holdout: 1 })).status).toBe(409)

    const versions: unknown[] = []
    for (let cursor = ''; ; ) {
      const { body } = await manage('GET', `decisions/${key}/history?limit=2${cursor}`)
      versions.push(...(body.data as Json[]).map(({ version, change }) => [version, change]))
      if (body.nextCursor === null) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(versions).toEqual([
      [5, 'archived'],
      [4, 'rolled_back'],
      [3, 'updated'],
      [2, 'updated'],
      [1, 'created'],
    ])
  })

  it('lets one of many concurrent changes of a version succeed', async () => {
    const key = await create(halves)
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        manage('PATCH', `decisions/${key}`, { holdout: n + 1, version: 1 }),
      ),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 412)])
  })

  it('refuses two decisions that would depend on each other, also under concurrency', async () => {
    const needs = (decision: string) => ({
      rules: [{ variant: 'treatment', prerequisites: [{ decision, variants: ['treatment'] }] }],
    })
    const [one, other] = [await create(halves), await create(halves)]
    const replies = await Promise.all([
      manage('PATCH', `decisions/${one}`, needs(other)),
      manage('PATCH', `decisions/${other}`, needs(one)),
    ])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 422])
    const refused = replies.find(({ status }) => status === 422)
    expect(JSON.stringify(refused?.body.errors)).toMatch(/circle: d-\S+ → d-\S+ → d-/)
  })

  it('separates projects', async () => {
    const foreign = randomUUID()
    const key = await create(halves)
    for (const path of ['', '/history', '/stats'])
      expect((await call('GET', `/api/projects/${foreign}/decisions/${key}${path}`)).status).toBe(404)
    expect(await manage('GET', 'decisions/nobody-knows')).toMatchObject({ status: 404 })
    expect(await manage('POST', 'decisions/nobody-knows/preview', { visitorId: 'v' })).toMatchObject({
      status: 404,
    })
  })

  it('requires the scope', async () => {
    const { body } = await manage('POST', 'api-keys', { name: 'k', kind: 'sec', scopes: ['events:write'] })
    for (const path of ['/api/v1/decide', '/ofrep/v1/evaluate/flags', '/ofrep/v1/evaluate/flags/x']) {
      const response = await waymark.request(path, {
        method: 'POST',
        headers: { 'X-API-Key': String(body.key) },
      })
      expect([response.status, await response.json()]).toMatchObject([403, { requiredScope: 'decide' }])
    }
    expect(
      (await waymark.request('/api/v1/decide', { method: 'POST', headers: { 'X-API-Key': 'x' } })).status,
    ).toBe(401)
  })
}
