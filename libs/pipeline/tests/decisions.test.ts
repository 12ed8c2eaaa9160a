import { randomUUID } from 'node:crypto'
import type { Exposure } from '@waymark/contracts'
import { openDatabase } from '@waymark/database'
import { profileIdOf } from '@waymark/domain'
import { anEnrichedEvent, createTestDatabase, services } from '@waymark/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { forgetOldCounts } from '../src/decisions/count-queries.ts'
import { storeExposures } from '../src/decisions/exposure-queries.ts'
import { findPeople } from '../src/decisions/person-queries.ts'
import { storeNewEvents } from '../src/events/event-writer.ts'
import { applyIdentify } from '../src/identity/apply-identify.ts'
import { resolveProfiles } from '../src/identity/identity-queries.ts'
import { eraseProfile } from '../src/personal-data/erase-profile-queries.ts'
import { exportPerson, findPerson } from '../src/personal-data/export-queries.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const projectId = '01900000-0000-7000-8000-000000000001'
const countedEvents = new Set(['order.placed', 'seen'])

describe.skipIf(!services)('decisions in the database', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
  })
  afterEach(() => void vi.unstubAllEnvs())
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const profileOf = async (visitorId: string): Promise<string> => {
    const [profileId] = await resolveProfiles(db.pool, [{ projectId, visitorId, userId: null }])
    if (!profileId) throw new Error('no profile')
    return profileId
  }
  const identify = (visitorId: string, userId: string) =>
    applyIdentify(db, {
      v: 1,
      kind: 'identify',
      id: randomUUID(),
      projectId,
      receivedAt: new Date().toISOString(),
      visitorId,
      userId,
      traits: { plan: 'pro' },
    })
  const anEvent = (visitorId: string, profileId: string, eventName: string, clientTimestamp?: string) => ({
    ...anEnrichedEvent({
      event: { visitorId, eventName, ...(clientTimestamp !== undefined && { clientTimestamp }) },
    }),
    profileId,
  })
  const store = (events: ReturnType<typeof anEvent>[]) =>
    db.transaction((client) => storeNewEvents(client, events, () => countedEvents))
  const find = async (kind: 'visitor' | 'user', value: string) =>
    (await findPeople(db.pool, [{ projectId, kind, value, countedEvents }]))[0]
  const sumOf = (counts: { event: string; n: number }[] | undefined, event: string) =>
    (counts ?? []).reduce((sum, count) => (count.event === event ? sum + count.n : sum), 0)

  it('counts an event once under repeats and concurrency, and only events that decisions use', async () => {
    const visitorId = randomUUID()
    const profileId = await profileOf(visitorId)
    const events = ['order.placed', 'order.placed', 'seen', 'other'].map((name) =>
      anEvent(visitorId, profileId, name),
    )
    await Promise.all(Array.from({ length: 8 }, () => store([...events].sort(() => Math.random() - 0.5))))
    const person = await find('visitor', visitorId)
    expect(['order.placed', 'seen', 'other'].map((name) => sumOf(person?.counts, name))).toEqual([2, 1, 0])
  })

  it('counts the visitor’s events for the user, before and after the login', async () => {
    const [visitorId, userId] = [randomUUID(), randomUUID()]
    const visitors = await profileOf(visitorId)
    await store([anEvent(visitorId, visitors, 'seen')])
    const [users] = await resolveProfiles(db.pool, [{ projectId, visitorId: null, userId }])
    await store([anEvent(visitorId, users ?? '', 'seen')])
    await identify(visitorId, userId)
    // An event that was resolved before the sign-in and stored after it.
    await store([anEvent(visitorId, visitors, 'seen')])
    const person = await find('user', userId)
    expect(person).toMatchObject({
      profileId: users,
      bucketingId: userId,
      isUsers: true,
      traits: { plan: 'pro' },
    })
    expect(sumOf(person?.counts, 'seen')).toBe(3)
    expect(await find('visitor', visitorId)).toEqual(person)
  })

  it('returns people in the requested order, including unknown ones', async () => {
    const visitorId = randomUUID()
    await profileOf(visitorId)
    const wanted = ['nobody', visitorId, visitorId, 'nobody else'].map((value) => ({
      projectId,
      kind: 'visitor' as const,
      value,
      countedEvents: new Set<string>(),
    }))
    const found = await findPeople(db.pool, wanted)
    expect(found.map((person) => person?.bucketingId)).toEqual([undefined, visitorId, visitorId, undefined])
    expect(await findPeople(db.pool, [])).toEqual([])
  })

  it('deletes counts that are too old, and neither stores nor reads them', async () => {
    const visitorId = randomUUID()
    const profileId = await profileOf(visitorId)
    const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
    await store([89, 120].map((days) => anEvent(visitorId, profileId, 'seen', daysAgo(days))))
    expect(sumOf((await find('visitor', visitorId))?.counts, 'seen')).toBe(1)
    expect(await forgetOldCounts(db.pool, Date.now())).toBe(0)
    expect(sumOf((await find('visitor', visitorId))?.counts, 'seen')).toBe(1)
    await forgetOldCounts(db.pool, Date.now() + 2 * DAY_MS)
    expect(sumOf((await find('visitor', visitorId))?.counts, 'seen')).toBe(0)
  })

  const decisionId = randomUUID()
  const anExposure = (change: Partial<Exposure>): Exposure => ({
    v: 1,
    projectId,
    decisionId,
    decisionKey: 'd',
    version: 1,
    variant: 'on',
    reason: 'SPLIT',
    ruleId: 'r',
    subject: 's',
    visitorId: null,
    userId: null,
    profileId: null,
    exposedAt: '2026-11-21T12:00:00.000Z',
    ...change,
  })
  const exposedIn = async (id: string) =>
    (
      await db.pool.query(
        'SELECT variant, profile_id, day::text, exposed_at FROM decision.exposures WHERE decision_id = $1 ORDER BY 1, 3',
        [id],
      )
    ).rows

  it('stores the first exposure of a day, for any order and repetition', async () => {
    const profileId = await profileOf(randomUUID())
    const at = (exposedAt: string, variant = 'on') => anExposure({ profileId, variant, exposedAt })
    const exposures = [
      at('2026-11-21T12:00:00.000Z'),
      at('2026-11-21T11:00:00.000Z'),
      at('2026-11-21T23:59:59.999Z'),
      at('2026-11-22T00:00:00.000Z'),
      at('2026-11-21T12:00:00.000Z', 'off'),
    ]
    await Promise.all(
      Array.from({ length: 6 }, () =>
        storeExposures(
          db.pool,
          [...exposures].sort(() => Math.random() - 0.5),
        ),
      ),
    )
    const stored = (variant: string, day: string, exposedAt: string) => ({
      variant,
      profile_id: profileId,
      day,
      exposed_at: new Date(exposedAt),
    })
    expect(await exposedIn(decisionId)).toEqual([
      stored('off', '2026-11-21', '2026-11-21T12:00:00.000Z'),
      stored('on', '2026-11-21', '2026-11-21T11:00:00.000Z'),
      stored('on', '2026-11-22', '2026-11-22T00:00:00.000Z'),
    ])
  })

  it('stores a person who was erased since the look-up under the new profile', async () => {
    const [visitorId, id] = [randomUUID(), randomUUID()]
    const profileId = await profileOf(visitorId)
    await eraseProfile({ db, now: () => Date.now() - 1_000 }, { projectId, profileId })
    const exposedAt = new Date().toISOString()
    await storeExposures(db.pool, [anExposure({ decisionId: id, visitorId, profileId, exposedAt })])
    const successor = await profileOf(visitorId)
    expect(successor).not.toBe(profileId)
    expect(await exposedIn(id)).toMatchObject([{ profile_id: successor }])
  })

  it('stores a person without a profile under the profile that their id has by then', async () => {
    const [visitorId, userId, stranger, id] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    const [users] = await resolveProfiles(db.pool, [{ projectId, visitorId: null, userId }])
    await identify(visitorId, userId)
    await storeExposures(db.pool, [
      anExposure({ decisionId: id, visitorId, variant: 'a' }),
      anExposure({ decisionId: id, visitorId: stranger, variant: 'b' }),
    ])
    const newProfile = profileIdOf({ projectId, kind: 'visitor', value: stranger })
    expect(await exposedIn(id)).toMatchObject([
      { variant: 'a', profile_id: users },
      { variant: 'b', profile_id: newProfile },
    ])
    expect((await find('visitor', stranger))?.profileId).toBe(newProfile)
  })

  it.each(['UTC', 'Europe/Berlin', 'America/Los_Angeles'])(
    'exports the days of exposures and counts as they are stored, in %s',
    async (timeZone) => {
      vi.stubEnv('TZ', timeZone)
      const visitorId = randomUUID()
      const profileId = await profileOf(visitorId)
      const today = new Date().toISOString()
      await store([anEvent(visitorId, profileId, 'seen', today)])
      await storeExposures(db.pool, [anExposure({ profileId, exposedAt: today })])
      const person = await findPerson(db, { projectId, profileId })
      if (!person) throw new Error('no person')
      const pieces = await Array.fromAsync(exportPerson(db, person))
      const day = today.slice(0, 10)
      expect(JSON.parse(pieces.join(''))).toMatchObject({
        exposures: [{ variant: 'on', day }],
        eventCounts: [{ event: 'seen', day, n: 1 }],
      })
    },
  )
})
