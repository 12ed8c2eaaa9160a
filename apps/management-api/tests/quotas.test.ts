import { services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

/** The limits of each project in these tests. */
const LIMIT = 3
/** Bytes of the schemas, filters and decisions of a project. */
const CONFIGURATION_BYTES = 20_000

type Json = Record<string, unknown>
type Answer = { status: number; body: Json }

/** The resources by collection, with their quota and its setting; `n` makes each one unique. */
const kinds: { collection: string; quota: string; setting: string; body: (n: number) => Json }[] = [
  {
    collection: 'event-definitions',
    quota: 'eventDefinitions',
    setting: 'QUOTA_EVENT_DEFINITIONS',
    body: (n) => ({ name: `event ${n}`, schema: {} }),
  },
  {
    collection: 'metering-selectors',
    quota: 'meteringSelectors',
    setting: 'QUOTA_METERING_SELECTORS',
    body: (n) => ({ eventName: `event ${n}` }),
  },
  {
    collection: 'decisions',
    quota: 'decisions',
    setting: 'QUOTA_DECISIONS',
    body: (n) => ({
      key: `decision-${n}`,
      variants: [{ key: 'a', value: 1 }],
      fallbackVariant: 'a',
      rules: [],
    }),
  },
  {
    collection: 'segments',
    quota: 'segments',
    setting: 'QUOTA_SEGMENTS',
    body: (n) => ({
      key: `segment-${n}`,
      name: `Segment ${n}`,
      condition: { counts: [{ eventName: `event ${n}`, days: 7, op: 'gte', value: 1 }] },
    }),
  },
  {
    collection: 'email-triggers',
    quota: 'emailTriggers',
    setting: 'QUOTA_EMAIL_TRIGGERS',
    body: (n) => ({ name: `Trigger ${n}`, eventName: 'signed_up', subject: 'Hello', html: '<p>Hello</p>' }),
  },
  {
    collection: 'coupon-pools',
    quota: 'couponPools',
    setting: 'QUOTA_COUPON_POOLS',
    body: (n) => ({ name: `Pool ${n}`, kind: 'unique', discount: { type: 'percent', value: 10 } }),
  },
  {
    collection: 'loyalty-programmes',
    quota: 'loyaltyProgrammes',
    setting: 'QUOTA_LOYALTY_PROGRAMMES',
    body: (n) => ({ key: `club-${n}`, name: `Club ${n}` }),
  },
  {
    collection: 'links',
    quota: 'links',
    setting: 'QUOTA_LINKS',
    body: (n) => ({ destination: `https://shop.example/${n}` }),
  },
  {
    collection: 'api-keys',
    quota: 'apiKeys',
    setting: 'QUOTA_API_KEYS',
    body: (n) => ({ name: `Key ${n}`, kind: 'sec', scopes: ['decide'] }),
  },
]

describe.skipIf(!services)('the quotas of a project', () => {
  let management: Management
  let owner: Browser
  let path: string

  beforeAll(async () => {
    const settings = [...kinds.map(({ setting }) => setting), 'QUOTA_MEMBERS', 'QUOTA_PROJECTS']
    management = await startManagement({
      env: {
        ...Object.fromEntries(settings.map((setting) => [setting, `${LIMIT}`])),
        QUOTA_COUPON_CODES: '1000',
        QUOTA_PROMOTIONS: '1',
        QUOTA_CONFIGURATION_BYTES: `${CONFIGURATION_BYTES}`,
      },
    })
  })
  beforeEach(async () => {
    const registered = await management.register()
    owner = registered
    path = `/api/projects/${registered.account.projects[0]?.id}`
  })
  afterAll(() => management?.stop())

  const ask = async (method: string, resource: string, body?: unknown): Promise<Answer> => {
    const response = await owner.request(method, `${path}/${resource}`, body)
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Json) }
  }
  const refusal = (quota: string, setting: string, limit = LIMIT) => ({
    status: 422,
    body: {
      error: expect.stringContaining(setting),
      quota,
      limit,
      errors: [{ field: expect.any(String), rule: 'quota', message: expect.stringContaining(setting) }],
    },
  })

  describe.each(kinds)('$collection', ({ collection, quota, setting, body }) => {
    it('are enforced at the limit, and name the quota and its setting one past it', async () => {
      for (let n = 0; n < LIMIT; n++) expect((await ask('POST', collection, body(n))).status).toBe(201)
      expect(await ask('POST', collection, body(LIMIT))).toMatchObject(refusal(quota, setting))
    })

    it('are enforced under concurrency', async () => {
      const answers = await Promise.all(
        Array.from({ length: 3 * LIMIT }, (_, n) => ask('POST', collection, body(n))),
      )
      const statuses = answers.map(({ status }) => status).toSorted()
      expect(statuses).toEqual([...Array(LIMIT).fill(201), ...Array(2 * LIMIT).fill(422)])
    })
  })

  it.each(
    kinds.filter(({ quota }) =>
      ['eventDefinitions', 'meteringSelectors', 'emailTriggers', 'apiKeys'].includes(quota),
    ),
  )('$collection no longer count when archived or revoked', async ({ collection, body }) => {
    const ids: unknown[] = []
    for (let n = 0; n < LIMIT; n++) ids.push((await ask('POST', collection, body(n))).body.id)
    expect((await ask('DELETE', `${collection}/${ids[0]}`)).status).toBe(204)
    expect((await ask('POST', collection, body(LIMIT))).status).toBe(201)
    expect((await ask('POST', collection, body(LIMIT + 1))).status).toBe(422)
  })

  describe('bytes of configuration', () => {
    const refused = refusal('configurationBytes', 'QUOTA_CONFIGURATION_BYTES', CONFIGURATION_BYTES)
    /** As PostgreSQL writes it, with a space after each colon. */
    const textOfBytes = (bytes: number) => 'x'.repeat(bytes - '{"title": ""}'.length)
    const define = (name: string, bytes: number) =>
      ask('POST', 'event-definitions', { name, schema: { title: textOfBytes(bytes) } })
    const variants = (text: string) => [{ key: 'a', value: text }]
    const decide = (text: string) =>
      ask('POST', 'decisions', { key: 'd', variants: variants(text), fallbackVariant: 'a', rules: [] })
    const filter = { '==': [{ var: 'properties.a' }, 'x'.repeat(2_000)] }

    it('are enforced at the limit and one past it', async () => {
      expect((await define('a', CONFIGURATION_BYTES - 20)).status).toBe(201)
      expect(await define('b', 21)).toMatchObject(refused)
      expect((await define('b', 20)).status).toBe(201)
    })

    it('count for every kind, at creation and at changes', async () => {
      const definition = await define('a', CONFIGURATION_BYTES - 3_000)
      const selector = { eventName: 'a', filter }
      const trigger = { name: 'T', eventName: 'a', filter, subject: 's', html: 'h' }
      expect((await ask('POST', 'metering-selectors', selector)).status).toBe(201)
      expect(await ask('POST', 'metering-selectors', selector)).toMatchObject(refused)
      expect(await ask('POST', 'email-triggers', trigger)).toMatchObject(refused)
      const unfiltered = await ask('POST', 'email-triggers', { ...trigger, filter: null })
      expect(unfiltered.status).toBe(201)
      expect(await ask('PATCH', `email-triggers/${unfiltered.body.id}`, { filter })).toMatchObject(refused)
      expect(await decide('x'.repeat(1_000))).toMatchObject(refused)
      expect((await decide('x')).status).toBe(201)
      expect(await ask('PATCH', 'decisions/d', { variants: variants('x'.repeat(1_000)) })).toMatchObject(
        refused,
      )
      const larger = { schema: { title: textOfBytes(CONFIGURATION_BYTES - 2_000) } }
      expect(await ask('PATCH', `event-definitions/${definition.body.id}`, larger)).toMatchObject(refused)
      expect((await ask('DELETE', `event-definitions/${definition.body.id}`)).status).toBe(204)
      expect((await ask('POST', 'metering-selectors', selector)).status).toBe(201)
    })
  })

  it('count members and pending invitations together', async () => {
    const invite = (n: number) => ask('POST', 'invitations', { email: `p${n}@example.com`, role: 'viewer' })
    expect([(await invite(0)).status, (await invite(1)).status]).toEqual([201, 201])
    expect(await invite(2)).toMatchObject(refusal('members', 'QUOTA_MEMBERS'))
    // A new invitation to an address replaces the previous one.
    const again = await invite(1)
    expect(again.status).toBe(201)
    expect((await ask('DELETE', `invitations/${again.body.id}`)).status).toBe(204)
    expect((await invite(2)).status).toBe(201)
  })

  it('count projects per tenant', async () => {
    const create = async (n: number) =>
      (await owner.request('POST', '/api/projects', { name: `Shop ${n}` })).status
    expect((await Promise.all([1, 2, 3, 4].map(create))).toSorted()).toEqual([201, 201, 422, 422])
  })

  it('count automatic promotions that are not archived', async () => {
    const promotion = () =>
      ask('POST', 'coupon-pools', { name: 'P', kind: 'automatic', discount: { type: 'percent', value: 10 } })
    const first = await promotion()
    expect(first.status).toBe(201)
    expect(await promotion()).toMatchObject(refusal('promotions', 'QUOTA_PROMOTIONS', 1))
    expect((await ask('DELETE', `coupon-pools/${first.body.id}`)).status).toBe(204)
    const answers = await Promise.all([promotion(), promotion()])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422])
  })

  describe('coupon codes', () => {
    const discount = { type: 'percent', value: 10 }
    const pool = (size: number) =>
      ask('POST', 'coupon-pools', { name: 'Pool', kind: 'unique', size, discount })
    const codes = refusal('couponCodes', 'QUOTA_COUPON_CODES', 1_000)

    it('count over all pools, including archived ones and codes to be generated', async () => {
      const first = await pool(600)
      expect(first.status).toBe(201)
      expect((await ask('DELETE', `coupon-pools/${first.body.id}`)).status).toBe(204)
      expect(await pool(401)).toMatchObject(codes)
      const second = await pool(399)
      expect(second.status).toBe(201)
      const topUp = (count: number) => ask('POST', `coupon-pools/${second.body.id}/top-up`, { count })
      expect(await topUp(2)).toMatchObject(codes)
      expect((await topUp(1)).status).toBe(200)
      const shared = { name: 'Shared', kind: 'shared', code: 'ALL', discount }
      expect(await ask('POST', 'coupon-pools', shared)).toMatchObject(codes)
    })

    it('are enforced when pools are created and topped up concurrently', async () => {
      const { body } = await pool(400)
      const topUp = () => ask('POST', `coupon-pools/${body.id}/top-up`, { count: 400 })
      const answers = await Promise.all([topUp(), pool(400), topUp(), pool(400)])
      expect(
        answers
          .map(({ status }) => status)
          .toSorted()
          .slice(1),
      ).toEqual([422, 422, 422])
    })

    it('are enforced for imports', async () => {
      const target = await ask('POST', 'coupon-pools', { name: 'Import', kind: 'unique', discount })
      const upload = (from: number, count: number) =>
        fetch(`${management.url}${path}/coupon-pools/${target.body.id}/import`, {
          method: 'POST',
          headers: { Origin: management.url, Cookie: owner.cookie, 'Content-Type': 'text/csv' },
          body: Array.from({ length: count }, (_, n) => `CODE-${from + n}\n`).join(''),
        })
      expect((await upload(0, 1_000)).status).toBe(200)
      // Codes that the pool already has are not new.
      expect((await upload(0, 1_000)).status).toBe(200)
      const refused = await upload(1_000, 1)
      expect({ status: refused.status, body: await refused.json() }).toMatchObject(codes)
    })
  })

  it('create all links of a bulk request or none', async () => {
    const bulk = (from: number, count: number) =>
      ask('POST', 'links/bulk', {
        links: Array.from({ length: count }, (_, n) => ({
          destination: 'https://shop.example',
          externalId: `${from + n}`,
        })),
      })
    expect(await bulk(0, LIMIT + 1)).toMatchObject(refusal('links', 'QUOTA_LINKS'))
    expect(await bulk(0, LIMIT)).toMatchObject({ status: 200, body: { created: LIMIT } })
    expect(await bulk(0, LIMIT)).toMatchObject({ status: 200, body: { existing: LIMIT } })
    expect(await bulk(LIMIT, 1)).toMatchObject(refusal('links', 'QUOTA_LINKS'))
  })
})
