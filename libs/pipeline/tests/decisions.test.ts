import { randomBytes, randomUUID } from 'node:crypto'
import type { Exposure } from '@waymark/contracts/records/change-records'
import { applyServiceRoles, openDatabase, serviceNames, serviceRole } from '@waymark/database'
import { profileIdOf } from '@waymark/domain/identity'
import { openDuckDBStore } from '@waymark/event-store/duckdb'
import { anEnrichedEvent, createTestDatabase, seededRandom, services } from '@waymark/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createCompleteCounts } from '../src/decisions/complete-counts-queries.ts'
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
  let eventStore: Awaited<ReturnType<typeof openDuckDBStore>>

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
    eventStore = await openDuckDBStore({
      path: ':memory:',
      memoryBytes: 256 * 1024 * 1024,
      threads: 1,
      queryTimeoutMs: 10_000,
    })
  })
  afterEach(() => void vi.unstubAllEnvs())
  afterAll(async () => {
    await eventStore.close()
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
    const { shuffled } = seededRandom()
    await Promise.all(Array.from({ length: 8 }, () => store(shuffled(events))))
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

  describe('events that segments count', () => {
    beforeAll(async () => {
      const tenantId = randomUUID()
      await db.pool.query(`INSERT INTO core.tenants (id, name) VALUES ($1, 'a tenant')`, [tenantId])
      await db.pool.query(`INSERT INTO core.projects (id, tenant_id, name) VALUES ($1, $2, 'a project')`, [
        projectId,
        tenantId,
      ])
    })

    const running = new AbortController().signal
    const complete = async (): Promise<void> => {
      // With few events at a time, so that several batches and runs are needed.
      const next = createCompleteCounts({ db, eventStore, now: Date.now, settledSeconds: 0, batchPeople: 2 })
      while ((await next(running)) > 0);
    }
    const isPending = async (event: string): Promise<boolean> => {
      const { rows } = await db.pool.query(
        'SELECT 1 FROM decision.counted_events WHERE event = $1 AND completed_at IS NULL',
        [event],
      )
      return rows.length > 0
    }
    /** Has an event counted from now on. */
    const count = (event: string) =>
      db.pool.query('INSERT INTO decision.counted_events (project_id, event) VALUES ($1, $2)', [
        projectId,
        event,
      ])
    const storeCounted = async (events: ReturnType<typeof anEvent>[], counted: readonly string[] = []) => {
      await db.transaction((client) => storeNewEvents(client, events, () => new Set(counted)))
      await eventStore.storeEvents(events)
    }
    /** Has the events that were stored late counted as well. */
    const completeAgain = async (event: string): Promise<void> => {
      await db.pool.query(
        'UPDATE decision.counted_events SET due_at = now() - interval $$1 s$$ WHERE event = $1',
        [event],
      )
      await complete()
    }
    const countOf = async (visitorId: string, event: string) => {
      const wanted = {
        projectId,
        kind: 'visitor' as const,
        value: visitorId,
        countedEvents: new Set([event]),
      }
      return sumOf((await findPeople(db.pool, [wanted]))[0]?.counts, event)
    }
    const ofNames = async (names: string[], daysAgo = 0) => {
      const visitorId = randomUUID()
      const profileId = await profileOf(visitorId)
      const at = new Date(Date.now() - daysAgo * DAY_MS).toISOString()
      const events = names.map((name) => anEvent(visitorId, profileId, name, at))
      return { visitorId, profileId, events }
    }

    it('has earlier events counted once, with those that were counted since and before', async () => {
      const name = `earlier-${randomUUID()}`
      const [early, late] = [await ofNames([name, name, 'other']), await ofNames([name])]
      await storeCounted([...early.events, ...late.events])
      await count(name)
      const { profileId, visitorId } = early
      await storeCounted([anEvent(visitorId, profileId, name)], [name])
      expect(await countOf(visitorId, name)).toBe(1)
      await complete()
      expect(await countOf(visitorId, name)).toBe(3)
      expect(await countOf(late.visitorId, name)).toBe(1)
      expect(await countOf(visitorId, 'other')).toBe(0)
      expect(await isPending(name)).toBe(false)
      await storeCounted([anEvent(visitorId, profileId, name)], [name])
      expect(await countOf(visitorId, name)).toBe(4)
    })

    it('leaves events to the counts of earlier ones that were received before the writer counts, also late ones', async () => {
      const name = `late-${randomUUID()}`
      const { visitorId, profileId, events } = await ofNames([name])
      await db.pool.query(
        `INSERT INTO decision.counted_events (project_id, event, counts_from) VALUES ($1, $2, now() + interval '1 hour')`,
        [projectId, name],
      )
      await storeCounted(events, [name])
      expect(await countOf(visitorId, name)).toBe(0)
      await complete()
      expect(await countOf(visitorId, name)).toBe(1)
      await storeCounted([anEvent(visitorId, profileId, name)], [name])
      expect(await countOf(visitorId, name)).toBe(1)
      await completeAgain(name)
      await completeAgain(name)
      expect(await countOf(visitorId, name)).toBe(2)
      const later = {
        ...anEvent(visitorId, profileId, name),
        receivedAt: new Date(Date.now() + 2 * 3_600_000).toISOString(),
      }
      await storeCounted([later], [name])
      expect(await countOf(visitorId, name)).toBe(3)
    })

    it('counts anew when a segment counts an event again', async () => {
      const name = `again-${randomUUID()}`
      const { visitorId, profileId, events } = await ofNames([name])
      await count(name)
      await complete()
      await storeCounted(events, [name])
      await db.pool.query('DELETE FROM decision.counted_events WHERE event = $1', [name])
      await storeCounted([anEvent(visitorId, profileId, name)])
      await count(name)
      await storeCounted([anEvent(visitorId, profileId, name)], [name])
      await complete()
      expect(await countOf(visitorId, name)).toBe(3)
    })

    it('waits until all processes count', async () => {
      const name = `waiting-${randomUUID()}`
      await count(name)
      expect(await createCompleteCounts({ db, eventStore, now: Date.now })(running)).toBe(0)
      expect(await isPending(name)).toBe(true)
      await complete()
      expect(await isPending(name)).toBe(false)
    })

    it('lets projects take turns, however many events each has', async () => {
      const other = randomUUID()
      await db.pool.query(
        `INSERT INTO core.projects (id, tenant_id, name)
        SELECT $1, tenant_id, 'another project' FROM core.projects WHERE id = $2`,
        [other, projectId],
      )
      const names = Array.from({ length: 4 }, () => `many-${randomUUID()}`)
      for (const name of names) await count(name)
      await db.pool.query('INSERT INTO decision.counted_events (project_id, event) VALUES ($1, $2)', [
        other,
        'one',
      ])
      const next = createCompleteCounts({ db, eventStore, now: Date.now, settledSeconds: 0 })
      for (let run = 0; run < 2; run++) expect(await next(running)).toBe(1)
      expect(await isPending('one')).toBe(false)
      await complete()
      for (const name of names) expect(await isPending(name)).toBe(false)
    })

    it('loses and repeats no event that is stored at the same time', async () => {
      const name = `racing-${randomUUID()}`
      const people = await Promise.all(Array.from({ length: 8 }, () => ofNames([name, name])))
      await storeCounted(people.flatMap(({ events }) => events))
      await count(name)
      const storing = Promise.all(
        people.map(async ({ visitorId, profileId }) => {
          for (let n = 0; n < 12; n++) await storeCounted([anEvent(visitorId, profileId, name)], [name])
        }),
      )
      await Promise.all([storing, complete(), complete()])
      await completeAgain(name)
      const counts = await Promise.all(people.map(({ visitorId }) => countOf(visitorId, name)))
      expect(counts).toEqual(people.map(() => 14))
    })

    it('counts the events of merged people for the user, and none of erased people', async () => {
      const name = `merged-${randomUUID()}`
      const [visitor, erased] = [await ofNames([name]), await ofNames([name])]
      await storeCounted([...visitor.events, ...erased.events])
      const userId = randomUUID()
      await identify(visitor.visitorId, userId)
      await eraseProfile({ db, now: Date.now }, { projectId, profileId: erased.profileId })
      await count(name)
      await complete()
      const wanted = { projectId, kind: 'user' as const, value: userId, countedEvents: new Set([name]) }
      expect(sumOf((await findPeople(db.pool, [wanted]))[0]?.counts, name)).toBe(1)
      const { rows } = await db.pool.query(
        'SELECT 1 FROM decision.profile_event_counts WHERE profile_id = $1',
        [erased.profileId],
      )
      expect(rows).toEqual([])
    })
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
    const { shuffled } = seededRandom()
    await Promise.all(Array.from({ length: 6 }, () => storeExposures(db.pool, shuffled(exposures))))
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

  it('are stored with the privileges of persistence-consumer', async () => {
    // Roles belong to the server, which other tests use at the same time.
    const prefix = `test_${randomBytes(5).toString('hex')}_`
    const passwords = Object.fromEntries(serviceNames.map((service) => [service, 'a password']))
    await applyServiceRoles(db.pool, { prefix, passwords })
    const [id, profileId] = [randomUUID(), await profileOf(randomUUID())]
    const exposures = ['DEFAULT', 'SPLIT'].map((reason) => anExposure({ decisionId: id, profileId, reason }))
    for (const exposure of exposures)
      await db.transaction(async (client) => {
        await client.query(`SET LOCAL ROLE ${serviceRole('persistence-consumer', prefix)}`)
        await storeExposures(client, [exposure])
      })
    expect(await exposedIn(id)).toHaveLength(1)
    for (const service of serviceNames) {
      const role = serviceRole(service, prefix)
      await db.pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
    }
  })

  it('prefers the first exposure of a day that a split chose, in any order', async () => {
    const [id, profileId] = [randomUUID(), await profileOf(randomUUID())]
    const at = (hour: number, reason: string, version: number) =>
      anExposure({ decisionId: id, profileId, reason, version, exposedAt: `2026-11-21T${hour}:00:00.000Z` })
    const exposures = [
      at(10, 'DEFAULT', 1),
      at(12, 'SPLIT', 2),
      at(13, 'SPLIT', 3),
      at(14, 'TARGETING_MATCH', 4),
    ]
    const readAll = async () =>
      (
        await db.pool.query(
          'SELECT reason, version, exposed_at AS at FROM decision.exposures WHERE decision_id = $1',
          [id],
        )
      ).rows
    const first = { reason: 'SPLIT', version: 2, at: new Date('2026-11-21T12:00:00.000Z') }
    for (const ordered of [exposures, exposures.toReversed()]) {
      for (const exposure of ordered) await storeExposures(db.pool, [exposure])
      expect(await readAll()).toEqual([first])
      await db.pool.query('DELETE FROM decision.exposures WHERE decision_id = $1', [id])
      await storeExposures(db.pool, ordered)
      expect(await readAll()).toEqual([first])
      await db.pool.query('DELETE FROM decision.exposures WHERE decision_id = $1', [id])
    }
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
      async function* none(): AsyncGenerator<never, void, undefined> {}
      const pieces = await Array.fromAsync(exportPerson({ db, events: { readEvents: none } }, person))
      const day = today.slice(0, 10)
      expect(JSON.parse(pieces.join(''))).toMatchObject({
        exposures: [{ variant: 'on', day }],
        eventCounts: [{ event: 'seen', day, n: 1 }],
      })
    },
  )
})
