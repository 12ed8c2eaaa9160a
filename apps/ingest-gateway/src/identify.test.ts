import { ingestRecords, type Topic } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { BusUnavailableError, type OutgoingRecord, textOfKey } from '@waymark/event-bus'
import type { ProjectConfigs } from '@waymark/project-config'
import { describe, expect, it } from 'vitest'
import { createIdentify } from './identify.ts'

const PROJECT_ID = '01900000-0000-7000-8000-000000000001'
const AWAY = Object.assign(new Error('no database'), { code: 'ECONNREFUSED' })
const request = { visitorId: 'v', userId: 'u', traits: { plan: 'free', ssn: '1' } }

/** A gateway without a database, on a queue that remembers; `dbFault` and `busFault` are what they throw. */
const setUp = ({ dbFault = AWAY, busFault }: { dbFault?: Error; busFault?: Error } = {}) => {
  const queued: OutgoingRecord<unknown>[] = []
  const db = { transaction: () => Promise.reject(dbFault) } as unknown as Database
  const queue = {
    enqueueOnBus: async <T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]) => {
      expect(topic.name).toBe(ingestRecords.name)
      if (busFault) throw busFault
      queued.push(...records)
    },
  }
  const config = { settings: { deniedTraits: ['ssn'] } }
  const projectConfigs = { get: async () => config } as unknown as ProjectConfigs
  const clock = () => Date.parse('2026-11-21T04:00:00Z')
  return { queued, ...createIdentify({ db, queue, projectConfigs, clock }) }
}

describe('an identify while Postgres is away', () => {
  it('is queued before the visitor’s later events, without denied traits', async () => {
    const { identify, queued } = setUp()
    const result = await identify(PROJECT_ID, request, { mustBeApplied: false })
    expect(result).toEqual({ ok: true, dropped_keys: ['ssn'] })
    const [record] = queued
    expect(record && textOfKey(record.key)).toBe(`${PROJECT_ID}:v`)
    expect(ingestRecords.validator.check(record?.value)).toBeUndefined()
    expect(record?.value).toMatchObject({
      kind: 'identify',
      projectId: PROJECT_ID,
      receivedAt: '2026-11-21T04:00:00.000Z',
      visitorId: 'v',
      userId: 'u',
      traits: { plan: 'free' },
    })
  })

  const unavailable = {
    code: 'store_unavailable',
    message: 'STORE_UNAVAILABLE',
    details: { retryAfter: 30 },
  }

  it('is not queued when it must be applied', async () => {
    const { identify, queued } = setUp()
    await expect(identify(PROJECT_ID, request, { mustBeApplied: true })).rejects.toMatchObject(unavailable)
    expect(queued).toEqual([])
  })

  it('is refused when the queue is away as well', async () => {
    const { identify } = setUp({ busFault: new BusUnavailableError('away') })
    await expect(identify(PROJECT_ID, request, { mustBeApplied: false })).rejects.toMatchObject(unavailable)
  })

  it('is not what a bug is taken for', async () => {
    const dbFault = new TypeError('a bug')
    const { identify, queued } = setUp({ dbFault })
    await expect(identify(PROJECT_ID, request, { mustBeApplied: false })).rejects.toBe(dbFault)
    expect(queued).toEqual([])
  })

  it('leaves a profile write nowhere to go', async () => {
    const write = { kind: 'user', value: 'u', traits: {} } as const
    await expect(setUp().writeProfile(PROJECT_ID, write)).rejects.toMatchObject(unavailable)
  })
})
