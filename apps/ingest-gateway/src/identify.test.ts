import { createMemoryMarks } from '@waymark/cache'
import { ingestRecords, type Topic } from '@waymark/contracts/topics'
import type { Database } from '@waymark/database'
import { currentWorkEnder, runAsWork } from '@waymark/domain/fairness'
import { userHashOf } from '@waymark/domain/identity'
import { BusUnavailableError, type OutgoingRecord } from '@waymark/event-bus'
import { createPersonChanges, identityMark, isQueuedMark } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import { describe, expect, it } from 'vitest'
import { type Claim, createIdentify, verifyUser } from './identify.ts'

const PROJECT_ID = '01900000-0000-7000-8000-000000000001'
const NOW = Date.parse('2026-11-21T04:00:00Z')
const AWAY = Object.assign(new Error('no database'), { code: 'ECONNREFUSED' })
const SENDER = { projectId: PROJECT_ID, keyKind: 'sec' } as const
const request = { visitorId: 'v', userId: 'u', userHash: null, traits: { plan: 'free', ssn: '1' } }

/**
 * A gateway without a database, on a queue that records its calls. `dbFault` and `busFault` are the errors to throw.
 */
const setUp = ({
  dbFault = AWAY,
  busFault,
  steadyClock,
}: {
  dbFault?: Error
  busFault?: Error
  steadyClock?: () => number
} = {}) => {
  const queued: OutgoingRecord<unknown>[] = []
  const db = { transaction: () => Promise.reject(dbFault) } as unknown as Database
  const queue = {
    enqueueOnBus: async <T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]) => {
      expect(topic.name).toBe(ingestRecords.name)
      if (busFault) throw busFault
      queued.push(...records)
    },
  }
  const config = { settings: { deniedTraits: ['ssn'] }, identitySecret: 'secret' }
  const projectConfigs = { get: async () => config } as unknown as ProjectConfigs
  const marks = createMemoryMarks()
  const personChanges = createPersonChanges(marks)
  const clock = () => NOW
  const deps = { db, queue, projectConfigs, personChanges, clock, ...(steadyClock && { steadyClock }) }
  return { queued, marks, ...createIdentify(deps) }
}

describe('an identify without PostgreSQL', () => {
  it('is queued before the visitor’s later events, without denied traits', async () => {
    const { identify, queued } = setUp()
    const result = await identify(SENDER, request, { mustBeApplied: false })
    expect(result).toEqual({ ok: true, dropped_keys: ['ssn'] })
    const [record] = queued
    expect(record?.key).toBe(`${PROJECT_ID}:v`)
    expect(ingestRecords.validator.check(record?.value)).toBeUndefined()
    expect(record?.value).toMatchObject({
      kind: 'identify',
      projectId: PROJECT_ID,
      receivedAt: '2026-11-21T04:00:00.000Z',
      visitorId: 'v',
      userId: 'u',
      traits: { plan: 'free' },
      verified: true,
    })
  })

  it('is marked as queued, so that decisions report it', async () => {
    const { identify, marks } = setUp()
    await identify(SENDER, request, { mustBeApplied: false })
    const keys = [
      identityMark({ projectId: PROJECT_ID, kind: 'visitor', value: 'v' }),
      identityMark({ projectId: PROJECT_ID, kind: 'user', value: 'u' }),
    ]
    expect((await marks.read(keys))?.map(isQueuedMark)).toEqual([true, true])
  })

  it.each([
    ['nothing', null, false],
    ['a user hash', userHashOf('u', 'secret'), true],
  ])('is queued with its proof of the user: %s', async (_what, userHash, verified) => {
    const { identify, queued } = setUp()
    const sender = { projectId: PROJECT_ID, keyKind: 'pub' } as const
    await identify(sender, { ...request, userHash }, { mustBeApplied: false })
    expect(queued[0]?.value).toMatchObject({ verified })
  })

  const unavailable = {
    code: 'store_unavailable',
    message: 'STORE_UNAVAILABLE',
    details: { retryAfter: 30 },
  }

  it('is not queued when it must be applied', async () => {
    const { identify, queued } = setUp()
    await expect(identify(SENDER, request, { mustBeApplied: true })).rejects.toMatchObject(unavailable)
    expect(queued).toEqual([])
  })

  it('is refused when the queue is unavailable as well', async () => {
    const { identify } = setUp({ busFault: new BusUnavailableError('away') })
    await expect(identify(SENDER, request, { mustBeApplied: false })).rejects.toMatchObject(unavailable)
  })

  it('does not hide an internal error', async () => {
    const dbFault = new TypeError('a bug')
    const { identify, queued } = setUp({ dbFault })
    await expect(identify(SENDER, request, { mustBeApplied: false })).rejects.toBe(dbFault)
    expect(queued).toEqual([])
  })

  it('refuses profile writes', async () => {
    const write = { kind: 'user', value: 'u', userHash: null, traits: {} } as const
    await expect(setUp().writeProfile(SENDER, write)).rejects.toMatchObject(unavailable)
  })
})

describe('changes of people without PostgreSQL', () => {
  const link = (n: number, more: object = {}) => ({
    visitorId: `v${n}`,
    userId: `u${n}`,
    userHash: null,
    traits: { n },
    ...more,
  })
  it.each([
    ['2020-01-01T00:00:00+01:00', null, '2019-12-31T23:00:00.000Z'],
    ['2100-01-01T00:00:00Z', null, undefined],
    ['yesterday', null, undefined],
    // By a clock that is years behind, or ahead.
    ['2020-01-01T00:00:00Z', '2020-01-01T00:01:00Z', new Date(NOW - 60_000).toISOString()],
    ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', undefined],
    ['2100-01-01T00:00:00Z', '2100-01-01T01:00:00Z', new Date(NOW - 3_600_000).toISOString()],
  ])('happened at %s, when %s was the time at their sender', async (happenedAt, sentAt, kept) => {
    const { changePeople, queued } = setUp()
    await changePeople(SENDER, [link(1, { happenedAt, sentAt })], refuseNone)
    expect(queued.map(({ value }) => (value as { happenedAt?: string }).happenedAt)).toEqual([kept])
  })

  const refuseNone = (index: number, error: Error) => {
    throw new Error(`change ${index} was refused`, { cause: error })
  }

  it('are queued in their order when all are links, however many', async () => {
    const { changePeople, queued, marks } = setUp()
    const links = Array.from({ length: 120 }, (_, n) => link(n))
    await changePeople(SENDER, links, refuseNone)
    expect(queued.map(({ key }) => key)).toEqual(links.map(({ visitorId }) => `${PROJECT_ID}:${visitorId}`))
    for (const { value } of queued) expect(ingestRecords.validator.check(value)).toBeUndefined()
    const last = identityMark({ projectId: PROJECT_ID, kind: 'user', value: 'u119' })
    expect((await marks.read([last]))?.map(isQueuedMark)).toEqual([true])
  })

  it.each([
    ['traits among them', [link(1), link(2, { visitorId: null })], {}],
    ['the queue away', [link(1)], { busFault: new BusUnavailableError('away') }],
  ])('are refused as a whole with %s', async (_what, changes, faults) => {
    const { changePeople, queued } = setUp(faults)
    await expect(changePeople(SENDER, changes, refuseNone)).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    expect(queued).toEqual([])
  })

  it('are refused one by one for a wrong user hash', async () => {
    const { changePeople, queued } = setUp()
    const refused: unknown[] = []
    await changePeople(SENDER, [link(1, { userHash: 'x' }), link(2)], (index, { code }) =>
      refused.push([index, code]),
    )
    expect(refused).toEqual([[0, 'forbidden']])
    expect(queued).toHaveLength(1)
  })

  it('do not hide a bug', async () => {
    const dbFault = new TypeError('a bug')
    await expect(setUp({ dbFault }).changePeople(SENDER, [link(1)], refuseNone)).rejects.toBe(dbFault)
  })
})

describe('changes of people that take too long', () => {
  const refuseNone = () => {
    throw new Error('nothing is refused')
  }
  const link = { visitorId: 'v', userId: 'u', userHash: null, traits: {} }
  const bug = new TypeError('the database is used')
  /** A clock by which each step takes 3 s. */
  const slowClock = () => {
    let now = 0
    return () => {
      now += 3_000
      return now
    }
  }

  it('wait in the queue when all are links', async () => {
    const { changePeople, queued } = setUp({ dbFault: bug, steadyClock: slowClock() })
    await changePeople(SENDER, [link], refuseNone)
    expect(queued).toHaveLength(1)
  })

  it('are made when there are traits among them', async () => {
    const { changePeople, queued } = setUp({ dbFault: bug, steadyClock: slowClock() })
    await expect(changePeople(SENDER, [{ ...link, visitorId: null }], refuseNone)).rejects.toBe(bug)
    expect(queued).toEqual([])
  })

  it('stop once their request was given up', async () => {
    const { changePeople, queued } = setUp({ dbFault: bug })
    const owner = { tenantId: 't', projectId: PROJECT_ID }
    const changing = runAsWork(owner, () => {
      currentWorkEnder()()
      return changePeople(SENDER, [link], refuseNone)
    })
    await expect(changing).rejects.toMatchObject({ code: 'overloaded' })
    expect(queued).toEqual([])
  })
})

const SECRET = 'secret'
const hash = userHashOf('ann', SECRET)
const required = { settings: { identityVerification: 'required' as const }, identitySecret: SECRET }
const optional = { settings: {}, identitySecret: SECRET }
const claim = (more: Partial<Claim> = {}): Claim => ({
  keyKind: 'pub',
  userId: 'ann',
  userHash: null,
  ...more,
})
const refusal = { code: 'forbidden', message: expect.stringContaining('userHash') }

describe('the proof of a user', () => {
  it("is a secret key or the user's hash", () => {
    for (const config of [optional, required]) {
      expect(verifyUser(claim({ keyKind: 'sec' }), config)).toBe(true)
      expect(verifyUser(claim({ userHash: hash }), config)).toBe(true)
    }
    expect(verifyUser(claim(), optional)).toBe(false)
  })

  it('is required where the project requires it, except for visitors', () => {
    expect(() => verifyUser(claim(), required)).toThrow(expect.objectContaining(refusal))
    expect(verifyUser(claim({ userId: null }), required)).toBe(false)
  })

  it.each([
    ['another user', userHashOf('bob', SECRET), SECRET],
    ['another secret', hash, 'other'],
    ['no secret', hash, null],
    ['no hash', 'x', SECRET],
  ])('is not accepted for %s, with any key', (_what, userHash, identitySecret) => {
    for (const keyKind of ['pub', 'sec'] as const)
      expect(() => verifyUser(claim({ keyKind, userHash }), { settings: {}, identitySecret })).toThrow(
        expect.objectContaining(refusal),
      )
  })

  it('cannot be checked while the secret cannot be read', () => {
    expect(() => verifyUser(claim({ userHash: hash }), { settings: {} })).toThrow(
      expect.objectContaining({ code: 'store_unavailable' }),
    )
  })
})
