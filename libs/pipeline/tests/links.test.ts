import type { LinkClick } from '@waymark/contracts/records/change-records'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IdentifyRecord, IngestRecord } from '@waymark/contracts/records/ingest-record'
import { openDatabase } from '@waymark/database'
import { describeUserAgent, enrichEvent } from '@waymark/domain/enrichment'
import { createClickIds } from '@waymark/domain/link'
import { anIngestRecord, createTestDatabase, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeNewEvents } from '../src/events/event-writer.ts'
import { applyIdentify } from '../src/identity/apply-identify.ts'
import { resolveProfiles } from '../src/identity/identity-queries.ts'
import { storeClicks } from '../src/links/click-queries.ts'
import { createResolveLinks } from '../src/links/link-queries.ts'

const SELECTOR = '01900000-0000-7000-8000-0000000000ee'

describe.skipIf(!services)('short links', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  const newClickId = createClickIds()
  const [ours, theirs] = [uuidv7(), uuidv7()]

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 24, applicationName: 'test', onError: () => {} })
    const tenant = await db.prisma.tenant.create({ data: { id: uuidv7(), name: 't' } })
    for (const id of [ours, theirs])
      await db.prisma.project.create({ data: { id, name: 'p', tenantId: tenant.id } })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const addLink = async (projectId = ours): Promise<{ id: string; code: string }> => {
    const id = uuidv7()
    const link = { id, projectId, code: `c-${id}`, destination: 'https://a.example/', tags: [] }
    return db.prisma.shortLink.create({ data: { ...link, campaign: 'spring' } })
  }
  const aClick = (linkId: string, fields: Partial<LinkClick> = {}): LinkClick => ({
    v: 1,
    id: newClickId(linkId, Date.now()),
    projectId: ours,
    linkId,
    code: 'code',
    clickedAt: '2026-11-20T23:59:59.999Z',
    ip: '198.51.100.0',
    userAgent: null,
    country: 'DE',
    referrer: 'https://News.example/x',
    bot: false,
    prefetch: false,
    visitor: 'somebody',
    ...fields,
  })
  const store = (clicks: LinkClick[]) => storeClicks(db.pool, clicks, describeUserAgent)

  describe('storing clicks', () => {
    it('counts each once when it is repeated in a batch, later or concurrently', async () => {
      const { id } = await addLink()
      const clicks = Array.from({ length: 300 }, (_, n) => aClick(id, { visitor: `v${n % 10}` }))
      const batches = Array.from({ length: 8 }, (_, n) => [...clicks.slice(n * 20), ...clicks.slice(0, 200)])
      const stored = await Promise.all(batches.map(store))
      expect(stored.reduce((sum, count) => sum + count, 0)).toBe(300)
      const totals = { clicks: 300n, botClicks: 0n, uniqueVisitors: 10n }
      expect(await db.prisma.linkCount.findUnique({ where: { linkId: id } })).toMatchObject(totals)
      expect(await db.prisma.linkDailyCount.findMany({ where: { linkId: id } })).toMatchObject([
        { ...totals, day: new Date('2026-11-20') },
      ])
      const breakdowns = await db.prisma.linkDailyBreakdown.findMany({
        where: { linkId: id },
        orderBy: { dimension: 'asc' },
      })
      expect(breakdowns.map(({ dimension, value, clicks }) => [dimension, value, clicks])).toEqual([
        ['country', 'DE', 300n],
        ['referrer', 'news.example', 300n],
      ])
    })

    it('counts bots and prefetches separately, and a visitor again on another day', async () => {
      const { id } = await addLink()
      await store([aClick(id, { bot: true }), aClick(id, { prefetch: true, visitor: null })])
      await store([aClick(id), aClick(id, { clickedAt: '2026-11-21T00:00:00.000Z' }), aClick(id)])
      expect(await db.prisma.linkCount.findUnique({ where: { linkId: id } })).toMatchObject({
        clicks: 3n,
        botClicks: 2n,
        uniqueVisitors: 2n,
        lastClickedAt: new Date('2026-11-21T00:00:00.000Z'),
      })
    })
  })

  describe('finding the link that led to an event', () => {
    const about = (event: Partial<IngestRecord['event']>, projectId = ours) =>
      anIngestRecord({ projectId, event })

    it('finds it by click, id and code, also before the click is stored, in its own project only', async () => {
      const resolveLinks = createResolveLinks(db)
      const [mine, foreign] = [await addLink(), await addLink(theirs)]
      const clickId = newClickId(mine.id, Date.now())
      const foreignClick = newClickId(foreign.id, Date.now())
      const found = { id: mine.id, code: mine.code, campaign: 'spring' }
      expect(
        await resolveLinks([
          about({ clickIds: { wm_click: clickId } }),
          about({ shortLinkId: mine.id }),
          about({ shortLinkCode: mine.code }),
          about({ clickIds: { wm_click: foreignClick }, shortLinkCode: mine.code }),
          about({
            clickIds: { wm_click: foreignClick },
            shortLinkId: foreign.id,
            shortLinkCode: foreign.code,
          }),
          about({}),
          about({ shortLinkCode: foreign.code }, theirs),
        ]),
      ).toEqual([
        { ...found, clickId },
        { ...found, clickId: null },
        { ...found, clickId: null },
        { ...found, clickId: null },
        null,
        null,
        { id: foreign.id, code: foreign.code, campaign: 'spring', clickId: null },
      ])
    })

    it('reads a known link once, and finds a link that was created after a miss', async () => {
      let queries = 0
      let now = 1_000
      const pool = Object.create(db.pool, {
        query: {
          value: (query: never) => {
            queries++
            return db.pool.query(query)
          },
        },
      }) as typeof db.pool
      const resolveLinks = createResolveLinks({ pool, now: () => now })
      const id = uuidv7()
      const ask = () => resolveLinks([about({ shortLinkCode: `c-${id}` })])
      expect(await ask()).toEqual([null])
      const link = { id, projectId: ours, code: `c-${id}`, destination: 'https://a.example/', tags: [] }
      await db.prisma.shortLink.create({ data: link })
      expect(await ask()).toEqual([null])
      expect(queries).toBe(1)
      now += 2_000
      expect(await ask()).toMatchObject([{ id }])
      expect(await ask()).toMatchObject([{ id }])
      expect(queries).toBe(2)
    })
  })

  it('names the variant of a click, by the keys that the link has had since its first one', async () => {
    const since = Date.parse('2026-11-20T12:00:00Z')
    const made = await addLink()
    await db.prisma.shortLink.update({
      where: { id: made.id },
      data: { variantKeys: ['a', 'b'], variantsSince: new Date(since) },
    })
    const variantOf = async (clickId: string) => {
      const record = anIngestRecord({ projectId: ours, event: { clickIds: { wm_click: clickId } } })
      const [found] = await createResolveLinks(db)([record])
      return found?.variant
    }
    expect(await variantOf(newClickId(made.id, since, 1))).toBe('a')
    expect(await variantOf(newClickId(made.id, since, 2))).toBe('b')
    expect(await variantOf(newClickId(made.id, since, 0))).toBeUndefined()
    expect(await variantOf(newClickId(made.id, since, 3))).toBeUndefined()
    expect(await variantOf(newClickId(made.id, since - 1, 1))).toBeUndefined()
  })

  describe('attributing conversions', () => {
    const enrich = async (records: IngestRecord[]) => {
      const people = records.map(({ projectId, event }) => ({ ...event, projectId }))
      const profiles = await resolveProfiles(db.pool, people)
      const links = await createResolveLinks(db)(records)
      return records.map((record, index) =>
        enrichEvent(record, { profileId: profiles[index] ?? null, shortLink: links[index] ?? null }),
      )
    }
    const storeEnriched = (events: EnrichedEvent[]) =>
      db.transaction((client) => storeNewEvents(client, events, () => new Set()))
    const arrive = async (...records: IngestRecord[]) => storeEnriched(await enrich(records))
    const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString()
    const landed = (visitorId: string, shortLinkId: string, minute: number) =>
      anIngestRecord({ projectId: ours, receivedAt: at(minute), event: { visitorId, shortLinkId } })
    const identified = (visitorId: string, userId: string, minute: number): IdentifyRecord => ({
      v: 1,
      kind: 'identify',
      id: uuidv7(),
      projectId: ours,
      receivedAt: at(minute),
      visitorId,
      userId,
      traits: {},
    })
    const ordered = (
      visitorId: string,
      minute: number,
      amount: number | null = 10,
      currency: string | null = 'EUR',
    ) =>
      anIngestRecord({
        projectId: ours,
        receivedAt: at(minute),
        event: { visitorId, eventName: 'order' },
        conversions: [{ selectorId: SELECTOR, amount, currency, quantity: null }],
      })
    const countsOf = async (linkId: string) =>
      (
        await db.prisma.linkDailyConversion.findMany({
          where: { linkId, conversions: { not: 0 } },
          orderBy: [{ touch: 'asc' }, { currency: 'asc' }],
        })
      ).map(
        ({ touch, currency, conversions, revenue }) =>
          [touch, currency, conversions, BigInt(revenue.toFixed())] as const,
      )

    it('uses touches of the same batch, and only those before the conversion', async () => {
      const [a, b] = [await addLink(), await addLink()]
      const visitor = uuidv7()
      await arrive(landed(visitor, a.id, 1), ordered(visitor, 2), landed(visitor, b.id, 3))
      expect(await countsOf(a.id)).toEqual([
        ['first', 'EUR', 1n, 10n],
        ['last', 'EUR', 1n, 10n],
      ])
      expect(await countsOf(b.id)).toEqual([])
      await arrive(ordered(visitor, 4, 5, null), ordered(visitor, 5, null, 'USD'))
      expect(await countsOf(b.id)).toEqual([
        ['last', '', 1n, 5n],
        ['last', 'USD', 1n, 0n],
      ])
    })

    it('counts nothing for a repeated batch', async () => {
      const link = await addLink()
      const visitor = uuidv7()
      const batch = [landed(visitor, link.id, 1), ordered(visitor, 2)]
      await arrive(...batch)
      await arrive(...batch)
      expect(await countsOf(link.id)).toEqual([
        ['first', 'EUR', 1n, 10n],
        ['last', 'EUR', 1n, 10n],
      ])
    })

    it('counts the conversions of each variant, also when clicks become known later', async () => {
      const link = await addLink()
      await db.prisma.shortLink.update({ where: { id: link.id }, data: { variantKeys: ['a', 'b'] } })
      const clicked = (visitorId: string, number: number, minute: number) => {
        const clickIds = { wm_click: newClickId(link.id, Date.parse(at(minute)), number) }
        return anIngestRecord({ projectId: ours, receivedAt: at(minute), event: { visitorId, clickIds } })
      }
      const byVariant = async () =>
        (
          await db.prisma.linkDailyVariantConversion.findMany({
            where: { linkId: link.id, conversions: { not: 0 } },
            orderBy: [{ variant: 'asc' }, { touch: 'asc' }],
          })
        ).map(({ variant, touch, conversions, revenue }) => [variant, touch, conversions, revenue.toNumber()])
      const [one, other, plain] = [uuidv7(), uuidv7(), uuidv7()]
      await arrive(clicked(one, 1, 1), ordered(one, 2), clicked(one, 2, 3), ordered(one, 4))
      await arrive(ordered(other, 5))
      await arrive(clicked(other, 2, 4))
      await arrive(clicked(plain, 0, 1), ordered(plain, 2))
      expect(await byVariant()).toEqual([
        ['a', 'first', 2n, 20],
        ['a', 'last', 1n, 10],
        ['b', 'first', 1n, 10],
        ['b', 'last', 2n, 20],
      ])
      await arrive(clicked(one, 2, 0))
      expect(await byVariant()).toEqual([
        ['a', 'last', 1n, 10],
        ['b', 'first', 3n, 30],
        ['b', 'last', 2n, 20],
      ])
      expect(await countsOf(link.id)).toEqual([
        ['first', 'EUR', 4n, 40n],
        ['last', 'EUR', 4n, 40n],
      ])
    })

    it('uses the window of the project', async () => {
      const link = await addLink()
      const visitor = uuidv7()
      const settings = { links: { attributionWindowDays: 1 } }
      await db.prisma.project.update({ where: { id: ours }, data: { settings } })
      try {
        await arrive(landed(visitor, link.id, 0))
        await arrive(ordered(visitor, 24 * 60 + 1), ordered(visitor, 24 * 60))
      } finally {
        await db.prisma.project.update({ where: { id: ours }, data: { settings: {} } })
      }
      expect(await countsOf(link.id)).toEqual([
        ['first', 'EUR', 1n, 10n],
        ['last', 'EUR', 1n, 10n],
      ])
    })

    it('has the same result for any order of events, also under concurrency', async () => {
      const [a, b] = [await addLink(), await addLink()]
      // No more at a time than there are connections, because a transaction is refused after 4 s without one.
      const visitors = Array.from({ length: 12 }, () => uuidv7())
      await Promise.all(
        visitors.flatMap((visitor, turn) => {
          const events = [
            landed(visitor, a.id, 1),
            ordered(visitor, 2),
            landed(visitor, b.id, 3),
            ordered(visitor, 4),
          ]
          const [first, ...others] = [...events.slice(turn % 4), ...events.slice(0, turn % 4)]
          return [arrive(first as IngestRecord, ...others.slice(0, turn % 3)), arrive(...others.reverse())]
        }),
      )
      expect(await countsOf(a.id)).toEqual([
        ['first', 'EUR', 24n, 240n],
        ['last', 'EUR', 12n, 120n],
      ])
      expect(await countsOf(b.id)).toEqual([['last', 'EUR', 12n, 120n]])
      const stored = await db.prisma.conversion.findMany({
        where: { visitorId: { in: visitors } },
        select: { occurredAt: true, attribution: true },
      })
      for (const { occurredAt, attribution } of stored)
        expect(attribution).toMatchObject({
          firstLinkTouch: { linkId: a.id },
          lastLinkTouch: { linkId: occurredAt.toISOString() === at(2) ? a.id : b.id },
        })
    })

    it('attributes earlier purchases of a user when the visitor of the link is identified', async () => {
      const link = await addLink()
      const [visitor, user] = [uuidv7(), uuidv7()]
      const bought = anIngestRecord({
        projectId: ours,
        receivedAt: at(2),
        event: { visitorId: null, userId: user, eventName: 'order' },
        conversions: [{ selectorId: SELECTOR, amount: 10, currency: 'EUR', quantity: null }],
      })
      await arrive(bought)
      await arrive(landed(visitor, link.id, 1))
      expect(await countsOf(link.id)).toEqual([])
      const known = identified(visitor, user, 3)
      await applyIdentify(db, known)
      await applyIdentify(db, known)
      await arrive(bought, landed(visitor, link.id, 1))
      expect(await countsOf(link.id)).toEqual([
        ['first', 'EUR', 1n, 10n],
        ['last', 'EUR', 1n, 10n],
      ])
    })

    it('counts a purchase once when links from before and after a merge arrive together or later', async () => {
      const [a, b] = [await addLink(), await addLink()]
      const [visitor, user] = [uuidv7(), uuidv7()]
      await enrich([anIngestRecord({ projectId: ours, event: { visitorId: null, userId: user } })])
      const before = await enrich([landed(visitor, a.id, 1)])
      await applyIdentify(db, identified(visitor, user, 3))
      const after = await enrich([landed(visitor, b.id, 4)])
      await arrive(ordered(visitor, 5))
      await storeEnriched([...before, ...after])
      expect(await countsOf(a.id)).toEqual([['first', 'EUR', 1n, 10n]])
      expect(await countsOf(b.id)).toEqual([['last', 'EUR', 1n, 10n]])
    })

    it('keeps the first link when a profile reaches its maximum of links', async () => {
      const [a, b] = [await addLink(), await addLink()]
      const visitor = uuidv7()
      await arrive(landed(visitor, a.id, 1), ordered(visitor, 40))
      await arrive(...Array.from({ length: 20 }, (_, n) => landed(visitor, b.id, 10 + n)))
      expect(await countsOf(a.id)).toEqual([['first', 'EUR', 1n, 10n]])
      expect(await countsOf(b.id)).toEqual([['last', 'EUR', 1n, 10n]])
    })

    it('counts amounts whose sum exceeds 64 bits', async () => {
      const link = await addLink()
      const bought = Array.from({ length: 1_100 }, (_, n) => {
        const visitor = uuidv7()
        return [landed(visitor, link.id, 1), ordered(visitor, 2, Number.MAX_SAFE_INTEGER - n)]
      })
      for (const half of [bought.slice(0, 550), bought.slice(550)]) await arrive(...half.flat())
      const [[, , conversions, revenue] = []] = await countsOf(link.id)
      expect(conversions).toBe(1_100n)
      expect(revenue).toBe(1_100n * BigInt(Number.MAX_SAFE_INTEGER) - (1_099n * 1_100n) / 2n)
    })

    it('counts nothing for a link of another project', async () => {
      const foreign = await addLink(theirs)
      const visitor = uuidv7()
      await arrive(landed(visitor, foreign.id, 1), ordered(visitor, 2))
      expect(await countsOf(foreign.id)).toEqual([])
    })
  })
})
