import { createMemoryCache } from '@waymark/cache'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { compileDecision, createDecisionSet } from '@waymark/domain/decision'
import type { Delivery } from '@waymark/event-bus'
import { eraseProfile, resolveProfiles } from '@waymark/pipeline'
import { createConfigChanges, createProjectConfigs } from '@waymark/project-config'
import { anEnrichedEvent, createMemoryLog, eventually, seededRandom, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDecideDeliveries } from '../src/decide-deliveries.ts'
import { type Harness, openHarness } from './harness.ts'

describe.skipIf(!services)('deciding on deliveries', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  /** A process of the group, with separate connections and memory. */
  const openConsumer = () => {
    const db = harness.open()
    const deps = { pool: db.pool, log: createMemoryLog(), now: Date.now }
    const changes = createConfigChanges(deps)
    const projectConfigs = createProjectConfigs({ ...deps, cache: createMemoryCache(), changes })
    const decide = createDecideDeliveries({ db, projectConfigs })
    const handle = (events: readonly EnrichedEvent[]) =>
      decide(
        events.map(
          (value, index): Delivery<EnrichedEvent> => ({
            topic: 'events.enriched.v1',
            partition: 0,
            offset: BigInt(index),
            key: null,
            value,
            headers: {},
          }),
        ),
      )
    return { db, handle }
  }
  const withConsumer = async (...events: EnrichedEvent[]): Promise<void> => {
    const { db, handle } = openConsumer()
    await handle(events).finally(() => db.close())
  }
  /** A separate event name for each test, so that no other trigger fires. */
  const someEvents = () => {
    const eventName = uuidv7()
    const by = (
      profileId: string | null,
      fields: { eventId?: string; projectId?: string; receivedAt?: string } = {},
    ) => ({
      ...anEnrichedEvent({
        projectId: fields.projectId ?? harness.projectId,
        ...(fields.receivedAt && { receivedAt: fields.receivedAt }),
        event: { eventName, eventId: fields.eventId ?? uuidv7() },
      }),
      profileId,
    })
    return { eventName, by }
  }
  const statuses = async (triggerId: string) =>
    (await harness.rows(triggerId)).map(({ status }) => status).sort()

  it('creates one delivery per trigger and event, even if the batch is repeated in another process', async () => {
    const { eventName, by } = someEvents()
    const triggers = [await harness.newTrigger({ eventName }), await harness.newTrigger({ eventName })]
    const profileId = await harness.newProfile({ email: 'ann@example.com', name: 'Ann' })
    const events = Array.from({ length: 50 }, () => by(profileId))
    const consumers = Array.from({ length: 4 }, openConsumer)
    const random = seededRandom()
    const shuffled = () => random.shuffled([...events, ...events])
    await Promise.all(consumers.map(({ handle }) => handle(shuffled())))
    await Promise.all(consumers.map(({ handle }) => handle(shuffled())))
    await Promise.all(consumers.map(({ db }) => db.close()))
    for (const trigger of triggers) {
      const rows = await harness.rows(trigger)
      expect(rows).toHaveLength(50)
      expect(
        rows.every(({ status, recipient }) => status === 'pending' && recipient === 'ann@example.com'),
      ).toBe(true)
      expect(rows[0]?.context).toMatchObject({
        traits: { name: 'Ann' },
        event: { eventName },
        profile: { id: profileId },
      })
    }
  })

  it('does not create a sent delivery again', async () => {
    const { eventName, by } = someEvents()
    const trigger = await harness.newTrigger({ eventName })
    const event = by(await harness.newProfile({ email: 'ann@example.com' }))
    await withConsumer(event)
    await harness.db.pool.query(
      `UPDATE email.deliveries SET status = 'sent', next_attempt_at = NULL WHERE trigger_id = $1`,
      [trigger],
    )
    await withConsumer(event)
    expect(await statuses(trigger)).toEqual(['sent'])
  })

  it('stores the reason why no email is sent', async () => {
    const { eventName, by } = someEvents()
    const trigger = await harness.newTrigger({ eventName })
    const addresses = ['never@example.com', 'never@xn--bcher-kva.example']
    await harness.db.prisma.emailSuppression.createMany({
      data: addresses.map((address) => ({
        id: uuidv7(),
        projectId: harness.projectId,
        address,
        reason: 'manual',
      })),
    })
    await withConsumer(
      by(null),
      by(uuidv7()),
      by(await harness.newProfile({ name: 'Nobody' })),
      by(await harness.newProfile({ email: 'a@x.example\r\nRCPT TO:<b@x.example>' })),
      by(await harness.newProfile({ email: 'Never@Example.com' })),
      by(await harness.newProfile({ email: 'never@B\u00dcCHER.example' })),
      by(await harness.newProfile({ email: 'never@bu\u0308cher.example.' })),
    )
    const rows = await harness.rows(trigger)
    expect(rows.map(({ status }) => status).sort()).toEqual([
      'skipped_no_email',
      'skipped_no_email',
      'skipped_no_email',
      'skipped_no_email',
      'suppressed',
      'suppressed',
      'suppressed',
    ])
    expect(rows.map(({ reason }) => reason).sort()).toEqual([
      'the address is on the suppression list',
      'the address is on the suppression list',
      'the address is on the suppression list',
      'the profile has no trait email',
      'the profile has no trait email',
      'the profile has no trait email',
      'the trait is not an email address',
    ])
    expect(rows.every(({ context }) => context === null)).toBe(true)
  })

  it('uses the profile that an anonymous one was merged into', async () => {
    const { eventName, by } = someEvents()
    const trigger = await harness.newTrigger({ eventName })
    const user = await harness.newProfile({ email: 'user@example.com' }, { userId: uuidv7() })
    const visitor = await harness.newProfile({}, { mergedInto: user })
    await withConsumer(by(visitor))
    expect(await harness.rows(trigger)).toMatchObject([{ profile_id: user, recipient: 'user@example.com' }])
  })

  it('stores nothing for a person erased after the event was received, and treats later events as a new person’s', async () => {
    const { eventName, by } = someEvents()
    const trigger = await harness.newTrigger({ eventName })
    const visitorId = uuidv7()
    const person = { projectId: harness.projectId, visitorId, userId: null }
    const come = async () => (await resolveProfiles(harness.db.pool, [person]))[0] ?? ''
    const profileId = await come()
    const traits = { email: 'ann@example.com' }
    await harness.db.prisma.profile.update({ where: { id: profileId }, data: { traits } })
    const before = { ...by(profileId), visitorId, userId: null, receivedAt: new Date().toISOString() }
    const erased = await eraseProfile(
      { db: harness.db, now: Date.now },
      { projectId: harness.projectId, profileId },
    )
    await withConsumer(before)
    expect(await harness.rows(trigger)).toEqual([])
    const later = new Date((erased?.erasedAt.getTime() ?? 0) + 1).toISOString()
    await withConsumer(before, { ...by(await come()), visitorId, userId: null, receivedAt: later })
    expect(await harness.rows(trigger)).toMatchObject([{ status: 'skipped_no_email' }])
  })

  it('separates projects', async () => {
    const { eventName, by } = someEvents()
    const other = await harness.newProject()
    const trigger = await harness.newTrigger({ eventName, projectId: other })
    const profileId = await harness.newProfile({ email: 'ann@example.com' })
    await withConsumer(by(profileId), by(profileId, { projectId: other }))
    expect(await harness.rows(trigger)).toMatchObject([{ status: 'skipped_no_email', recipient: null }])
  })

  it('ignores events from before the activation of a trigger and after its pause', async () => {
    const { eventName, by } = someEvents()
    const trigger = await harness.newTrigger({ eventName, activatedAt: new Date('2026-11-21T04:00:00.000Z') })
    const profileId = await harness.newProfile({ email: 'ann@example.com' })
    const at = (receivedAt: string) => by(profileId, { receivedAt })
    await withConsumer(at('2026-11-21T03:59:59.999Z'), at('2026-11-21T04:00:00.000Z'))
    expect(await statuses(trigger)).toEqual(['pending'])

    // A consumer that has not received the change yet must not fire either.
    const { db, handle } = openConsumer()
    const stale = createDecideDeliveries({
      db,
      projectConfigs: {
        getCurrent: async () => ({
          projectId: harness.projectId,
          tenantId: 'tenant',
          settings: {},
          hasDefinitions: false,
          checkFor: () => undefined,
          selectorsFor: () => [],
          loyaltyProgrammes: [],
          prepare: async () => {},
          decisions: createDecisionSet([], compileDecision),
          triggersFor: () => [
            {
              trigger: {
                id: trigger,
                eventName,
                filter: null,
                cooldownSeconds: 0,
                activatedAt: '2026-01-01T00:00:00Z',
              },
              matches: () => 'holds' as const,
            },
          ],
        }),
      },
    })
    await harness.db.prisma.emailTrigger.update({ where: { id: trigger }, data: { status: 'paused' } })
    const value = by(profileId)
    await stale([{ topic: 't', partition: 0, offset: 0n, key: null, value, headers: {} }])
    await handle([value])
    await db.close()
    expect(await statuses(trigger)).toEqual(['pending'])
  })

  it('sends one email per cooldown under concurrency', async () => {
    const { eventName, by } = someEvents()
    const trigger = await harness.newTrigger({ eventName, cooldownSeconds: 3_600 })
    const profiles = await Promise.all(
      Array.from({ length: 10 }, (_, n) => harness.newProfile({ email: `p${n}@example.com` })),
    )
    const consumers = Array.from({ length: 8 }, openConsumer)
    const { shuffled } = seededRandom()
    await Promise.all(
      consumers.map(({ handle }) => handle(shuffled(profiles.flatMap((id) => [by(id), by(id)])))),
    )
    await Promise.all(consumers.map(({ db }) => db.close()))
    const rows = await harness.rows(trigger)
    expect(rows).toHaveLength(160)
    for (const profile of profiles) {
      const own = rows.filter(({ profile_id }) => profile_id === profile)
      expect(own.filter(({ status }) => status === 'pending')).toHaveLength(1)
      const cooled = own.filter(({ status }) => status === 'cooldown')
      expect(cooled).toHaveLength(15)
      const reason = 'the profile got an email of this trigger within its cooldown'
      for (const delivery of cooled) expect(delivery).toMatchObject({ reason, context: null })
    }
  })

  it('sends again after the cooldown, which deliveries without email do not start', async () => {
    const { eventName, by } = someEvents()
    const trigger = await harness.newTrigger({ eventName, cooldownSeconds: 1 })
    const profileId = await harness.newProfile({})
    await withConsumer(by(profileId))
    await harness.db.prisma.profile.update({
      where: { id: profileId },
      data: { traits: { email: 'ann@example.com' } },
    })
    const first = by(profileId)
    await withConsumer(first, by(profileId))
    expect(await statuses(trigger)).toEqual(['cooldown', 'pending', 'skipped_no_email'])
    await eventually('the cooldown is over', async () => {
      // Repeats of the first do not count as new events.
      await withConsumer(first, by(profileId))
      return (await statuses(trigger)).filter((status) => status === 'pending').length === 2
    })
  })
})
