import { BusUnavailableError } from '@waymark/contracts/bus-unavailable-error'
import { createMemoryLog } from '@waymark/testing/unit'
import fc from 'fast-check'
import type { RecordMetadata } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBatchingProducer, type PartitionBatch } from './batching-producer.ts'
import type { BatchRecord } from './record-batch.ts'

const DEADLINE_MS = 4_000
const MAX_BATCH_CHARACTERS = 1_000

/** The key selects the partition. */
const record = (partition: number, value: string): BatchRecord => ({ key: `${partition}`, value })
const partitionOf = (key: Uint8Array): number => Number(Buffer.from(key).toString())
const partitionIn = ({ key }: BatchRecord): number => Number(key)

const newBatch = () => {
  const batch = {
    records: [] as BatchRecord[],
    released: false,
    append: (_key: Uint8Array, added: BatchRecord): boolean => {
      const characters = batch.records.reduce((sum, { value }) => sum + value.length, added.value.length)
      if (batch.records.length > 0 && characters > MAX_BATCH_CHARACTERS) return false
      batch.records.push(added)
      return true
    },
    release: () => {
      if (batch.released) throw new Error('a batch was released twice')
      batch.released = true
    },
  }
  return batch
}
type TestBatch = PartitionBatch<ReturnType<typeof newBatch>>
const recordsIn = (batches: readonly TestBatch[]): BatchRecord[] =>
  batches.flatMap(({ partition, batch }) => {
    if (batch.released) throw new Error('a batch was sent that had been released')
    for (const one of batch.records) expect(partitionIn(one)).toBe(partition)
    return batch.records
  })

const options = { newBatch, lingerMs: 2, deadlineMs: DEADLINE_MS, leaderOf: () => 1 }
const acknowledged = (...partitions: number[]): RecordMetadata[] =>
  partitions.map((partition) => ({ topicName: 't', partition, errorCode: 0, baseOffset: '0' }))
const partitionsOf = (records: readonly BatchRecord[]) => [...new Set(records.map(partitionIn))]
const valuesIn = (partition: number, records: readonly BatchRecord[] = []) =>
  records.filter((one) => partitionIn(one) === partition).map(({ value }) => value)

/** A producer whose sends are settled by the test: `answer(n)` settles the n-th one, counted from 0. */
const setUp = () => {
  const sends: (readonly BatchRecord[])[] = []
  const answers: PromiseWithResolvers<RecordMetadata[]>[] = []
  const send = (batches: readonly TestBatch[]) => {
    const answer = Promise.withResolvers<RecordMetadata[]>()
    sends.push(recordsIn(batches))
    answers.push(answer)
    return answer.promise
  }
  let leaders = [1, 1, 1]
  const leaderOf = (partition: number) => leaders[partition] ?? 1
  const producer = createBatchingProducer(send, { ...options, leaderOf }, createMemoryLog())
  /** Publishes, and returns the current state of the promise. */
  const publish = (...records: BatchRecord[]) => {
    const publication: { state: 'open' | 'done' | 'failed'; error?: unknown } = { state: 'open' }
    producer.send(records, partitionOf).then(
      () => {
        publication.state = 'done'
      },
      (error) => {
        publication.state = 'failed'
        publication.error = error
      },
    )
    return publication
  }
  const settle = async (act: (answer: PromiseWithResolvers<RecordMetadata[]>) => void, index: number) => {
    const answer = answers[index]
    if (!answer) throw new Error(`there was no send ${index}`)
    act(answer)
    await vi.advanceTimersByTimeAsync(0)
  }
  return {
    producer,
    sends,
    publish,
    /** The leader of each partition. */
    lead: (next: number[]) => {
      leaders = next
    },
    acknowledge: (index: number, ...partitions: number[]) =>
      settle(({ resolve }) => resolve(acknowledged(...partitions)), index),
    acknowledgeAll: (index: number) =>
      settle(({ resolve }) => resolve(acknowledged(...partitionsOf(sends[index] ?? []))), index),
    answer: (index: number, answer: RecordMetadata[]) => settle(({ resolve }) => resolve(answer), index),
    fail: (index: number) => settle(({ reject }) => reject(new Error('no broker')), index),
  }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a batching producer', () => {
  it('combines records that are published at the same time into one request', async () => {
    const { publish, sends, acknowledgeAll } = setUp()
    const publications = [publish(record(0, 'a')), publish(record(1, 'b'), record(0, 'c'))]
    expect(sends).toEqual([])
    await pass(2)
    expect(sends).toEqual([[record(0, 'a'), record(0, 'c'), record(1, 'b')]])
    await acknowledgeAll(0)
    expect(publications.map(({ state }) => state)).toEqual(['done', 'done'])
  })

  it('has one request in flight, and sends later records when it ends', async () => {
    const { publish, sends, acknowledgeAll } = setUp()
    publish(record(0, 'a'))
    await pass(2)
    publish(record(1, 'b'))
    publish(record(0, 'c'))
    await pass(1_000)
    expect(sends).toHaveLength(1)
    await acknowledgeAll(0)
    expect(sends.slice(1)).toEqual([[record(1, 'b'), record(0, 'c')]])
  })

  it('resolves each request by its own partitions', async () => {
    const { publish, acknowledge, acknowledgeAll, sends } = setUp()
    const [first, second, both] = [
      publish(record(0, 'a')),
      publish(record(1, 'b')),
      publish(record(0, 'c'), record(1, 'd')),
    ]
    await pass(2)
    await acknowledge(0, 0)
    expect([first.state, second.state, both.state]).toEqual(['done', 'open', 'open'])
    await pass(500)
    expect(sends[1]).toEqual([record(1, 'b'), record(1, 'd')])
    await acknowledgeAll(1)
    expect([second.state, both.state]).toEqual(['done', 'done'])
  })

  it('repeats unacknowledged records before newer records of their partition', async () => {
    const { publish, sends, acknowledge } = setUp()
    publish(record(0, 'a'), record(1, 'b1'), record(1, 'b2'))
    await pass(2)
    publish(record(1, 'b3'), record(0, 'd'))
    await acknowledge(0, 0)
    await pass(500)
    expect(sends).toHaveLength(2)
    expect(valuesIn(1, sends[1])).toEqual(['b1', 'b2'])
    expect(valuesIn(0, sends[1])).toEqual(['d'])
    await acknowledge(1, 0, 1)
    expect(valuesIn(1, sends[2])).toEqual(['b3'])
  })

  it.each([
    ['lacks the partition', acknowledged(7)],
    ['is empty', []],
    ['holds an error', [{ topicName: 't', partition: 0, errorCode: 6 }]],
  ])('does not accept an answer that %s', async (_, answer) => {
    const { publish, sends, answer: respond, acknowledgeAll } = setUp()
    const publication = publish(record(0, 'a'))
    await pass(2)
    await respond(0, answer)
    expect(publication.state).toBe('open')
    await pass(500)
    expect(sends).toEqual([[record(0, 'a')], [record(0, 'a')]])
    await acknowledgeAll(1)
    expect(publication.state).toBe('done')
  })

  it('retries a failed request after growing pauses of up to half a second', async () => {
    const { publish, sends, fail, acknowledgeAll } = setUp()
    const publication = publish(record(0, 'a'), record(0, 'b'))
    await pass(2)
    for (const [index, pause] of [50, 100, 200, 400, 500, 500].entries()) {
      await fail(index)
      await pass(pause - 1)
      expect(sends).toHaveLength(index + 1)
      await pass(1)
      expect(sends).toHaveLength(index + 2)
    }
    await acknowledgeAll(6)
    expect(publication.state).toBe('done')
    expect(sends[6]).toEqual([record(0, 'a'), record(0, 'b')])
  })

  it('keeps headers', async () => {
    const { publish, sends } = setUp()
    publish({ ...record(0, 'a'), headers: { trace: '1' } })
    await pass(2)
    expect(sends[0]).toEqual([{ ...record(0, 'a'), headers: { trace: '1' } }])
  })

  it('sends to one leader while another hangs, and to a new leader what the old one did not store', async () => {
    const { publish, sends, acknowledgeAll, fail, lead } = setUp()
    lead([1, 2])
    const [stuck, quick] = [publish(record(0, 'a')), publish(record(1, 'b'))]
    await pass(2)
    expect(sends).toEqual([[record(0, 'a')], [record(1, 'b')]])
    await acknowledgeAll(1)
    expect([stuck.state, quick.state]).toEqual(['open', 'done'])

    publish(record(0, 'c'), record(1, 'd'))
    await pass(2)
    expect(sends.slice(2)).toEqual([[record(1, 'd')]])
    await acknowledgeAll(2)
    lead([2, 2])
    await fail(0)
    expect(sends.slice(3)).toEqual([[record(0, 'a')]])
    await acknowledgeAll(3)
    expect(stuck.state).toBe('done')
    expect(sends.slice(4)).toEqual([[record(0, 'c')]])
  })

  it('resolves at once without records', async () => {
    const { publish, sends } = setUp()
    const publication = publish()
    await pass(1_000)
    expect(publication.state).toBe('done')
    expect(sends).toEqual([])
  })
})

describe('a batch', () => {
  it.each([
    [500, 2],
    [501, 1],
  ])('with 1,000 characters left accepts, of records of %i, %i at once', async (characters, held) => {
    const { publish, sends, acknowledgeAll } = setUp()
    publish(record(0, 'x'.repeat(characters)), record(0, 'y'.repeat(characters)), record(1, 'z'))
    await pass(2)
    expect(valuesIn(0, sends[0])).toHaveLength(held)
    expect(valuesIn(1, sends[0])).toEqual(['z'])
    await acknowledgeAll(0)
    expect(sends.flatMap((sent) => valuesIn(0, sent)).map((value) => value[0])).toEqual(['x', 'y'])
  })

  it('contains a single record that is larger than the limit', async () => {
    const { publish, sends, acknowledgeAll } = setUp()
    const large = record(0, 'x'.repeat(5_000))
    publish(record(0, 'a'), large, record(0, 'b'))
    for (const index of [0, 1, 2]) {
      await pass(2)
      await acknowledgeAll(index)
    }
    expect(sends).toEqual([[record(0, 'a')], [large], [record(0, 'b')]])
  })
})

describe('the deadline', () => {
  it('rejects with a BusUnavailableError, also while a request hangs', async () => {
    const { publish } = setUp()
    const publication = publish(record(0, 'a'))
    await pass(DEADLINE_MS - 1)
    expect(publication.state).toBe('open')
    await pass(1)
    expect(publication.error).toBeInstanceOf(BusUnavailableError)
  })

  it('is separate for each request', async () => {
    const { publish, acknowledgeAll, fail } = setUp()
    const early = publish(record(0, 'a'))
    await pass(DEADLINE_MS - 100)
    const late = publish(record(0, 'b'))
    await pass(100)
    expect([early.state, late.state]).toEqual(['failed', 'open'])
    await fail(0)
    await pass(50)
    await acknowledgeAll(1)
    expect(late.state).toBe('done')
  })

  it('ends the attempts: expired records are not sent', async () => {
    const { publish, sends, fail, acknowledgeAll } = setUp()
    publish(record(0, 'a'))
    await pass(DEADLINE_MS)
    await fail(0)
    await pass(DEADLINE_MS)
    expect(sends).toHaveLength(1)
    const next = publish(record(0, 'b'))
    await pass(2)
    expect(sends[1]).toEqual([record(0, 'b')])
    await acknowledgeAll(1)
    expect(next.state).toBe('done')
  })

  it('fails a request of which only one partition is acknowledged', async () => {
    const { publish, acknowledge, sends } = setUp()
    const publication = publish(record(0, 'a'), record(1, 'b'))
    for (let index = 0; publication.state === 'open'; index++) {
      await pass(500)
      if (sends.length > index) await acknowledge(index, 0)
    }
    expect(publication.error).toBeInstanceOf(BusUnavailableError)
    expect(sends.flatMap((sent) => valuesIn(0, sent))).toEqual(['a'])
  })
})

describe('drain', () => {
  it('sends at once and resolves when all requests have ended', async () => {
    const { producer, publish, sends, acknowledgeAll, fail } = setUp()
    publish(record(0, 'a'))
    let drained = false
    void producer.drain().then(() => {
      drained = true
    })
    await pass(0)
    expect(sends).toHaveLength(1)
    await fail(0)
    await pass(50)
    expect(drained).toBe(false)
    await acknowledgeAll(1)
    expect(drained).toBe(true)
  })

  it('resolves at the deadline when the brokers stay unavailable', async () => {
    const producer = createBatchingProducer(
      () => Promise.reject(new Error('no broker')),
      options,
      createMemoryLog(),
    )
    const published = expect(producer.send([record(0, 'a')], partitionOf)).rejects.toThrow(
      BusUnavailableError,
    )
    const drained = producer.drain()
    await pass(DEADLINE_MS + 500)
    await published
    await drained
  })

  it('resolves at once when nothing was published', async () => {
    await setUp().producer.drain()
  })
})

/** The outcome of one send: by partition, whether it is stored and whether the acknowledgement arrives. */
const fate = fc.record({
  stored: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  acknowledged: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  rejects: fc.boolean(),
  takesMs: fc.constantFrom(0, 1, 30, 700, 3_000),
})
const publication = fc.record({
  afterMs: fc.constantFrom(0, 0, 1, 5, 60, 900),
  partitions: fc.array(fc.nat(2), { minLength: 1, maxLength: 4 }),
  leaders: fc.array(fc.nat(1), { minLength: 3, maxLength: 3 }),
})

describe('any behavior of the brokers', () => {
  it('leads to resolved requests that were acknowledged, first deliveries in order, and an end of each request', async () => {
    const script = fc.record({
      fates: fc.array(fate, { maxLength: 12 }),
      publications: fc.array(publication, { minLength: 1, maxLength: 12 }),
    })
    await fc.assert(
      fc.asyncProperty(script, async ({ fates, publications }) => {
        const acknowledgedValues = new Set<string>()
        const log: string[][] = [[], [], []]
        const upcoming = [...fates]
        const inFlight = new Map<string, number>()
        let mostInFlight = 0
        let current = [0, 0, 0]
        const count = (what: string, change: number) => {
          const now = (inFlight.get(what) ?? 0) + change
          inFlight.set(what, now)
          mostInFlight = Math.max(mostInFlight, now)
        }
        let number = 0
        const send = async (batches: readonly TestBatch[], leader: number) => {
          const records = recordsIn(batches)
          const { stored, acknowledged: answered, rejects, takesMs } = upcoming.shift() ?? {}
          const lanes = [
            `leader ${leader}`,
            ...partitionsOf(records).map((partition) => `partition ${partition}`),
          ]
          for (const lane of lanes) count(lane, 1)
          const isStored = (one: BatchRecord) => stored?.[partitionIn(one)] ?? true
          const isAcknowledged = (one: BatchRecord) =>
            !rejects && isStored(one) && (answered?.[partitionIn(one)] ?? true)
          for (const one of records.filter(isStored)) log[partitionIn(one)]?.push(one.value)
          await new Promise((resolve) => setTimeout(resolve, takesMs ?? 1))
          for (const lane of lanes) count(lane, -1)
          if (rejects) throw new Error('no broker')
          for (const one of records.filter(isAcknowledged)) acknowledgedValues.add(one.value)
          return acknowledged(...partitionsOf(records.filter(isAcknowledged)))
        }
        const leaderOf = (partition: number) => current[partition] ?? 0
        const producer = createBatchingProducer(send, { ...options, leaderOf }, createMemoryLog())

        const outcomes: Promise<void>[] = []
        for (const { afterMs, partitions, leaders } of publications) {
          current = leaders
          await pass(afterMs)
          const records = partitions.map((partition) => record(partition, `${number++}`))
          const check = () => {
            for (const { value } of records) expect(acknowledgedValues).toContain(value)
          }
          outcomes.push(
            producer.send(records, partitionOf).then(check, (error) => {
              expect(error).toBeInstanceOf(BusUnavailableError)
            }),
          )
        }
        await pass(DEADLINE_MS)
        await Promise.all(outcomes)
        await pass(DEADLINE_MS)
        await producer.drain()

        expect(mostInFlight).toBe(1)
        for (const values of log) {
          const firsts = [...new Set(values)].map(Number)
          expect(firsts).toEqual(firsts.toSorted((a, b) => a - b))
        }
      }),
      { numRuns: 500 },
    )
  })
})
