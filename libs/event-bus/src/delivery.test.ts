import type { DeadLetter } from '@waymark/contracts/records/quarantine-records'
import { deadLetters, type Topic } from '@waymark/contracts/topics'
import { compileValidator } from '@waymark/contracts/validator'
import { classifyStoreError } from '@waymark/database'
import { createMemoryLog } from '@waymark/testing/unit'
import { type Static, Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { createDelivery, deadLettersTo, type RawRecord } from './delivery.ts'
import { BusUnavailableError, type Outcome, type OutgoingRecord, type Subscription } from './port.ts'

const Letter = Type.Object({ id: Type.Integer() })
type Letter = Static<typeof Letter>

const topic: Topic<Letter> = {
  name: 'test.letters.v1',
  validator: compileValidator(Letter),
  retentionMs: 1,
  maxMessageBytes: 1,
}

const raw = (offset: number, value = JSON.stringify({ id: offset })): RawRecord => ({
  partition: 3,
  offset: BigInt(offset),
  key: `key-${offset}`,
  value: Buffer.from(value),
  headers: { from: 'test' },
})
const records = (count: number): RawRecord[] => Array.from({ length: count }, (_, offset) => raw(offset))

const databaseError = (code: string) => Object.assign(new Error('quotes the data: hunter2'), { code })

/** A handler of ids, which may throw or return outcomes. */
type Handle = (ids: number[], call: number) => Outcome[] | undefined

const setUp = (handle: Handle, rest: Partial<Subscription<Letter>> = {}) => {
  const calls: number[][] = []
  const handled: number[] = []
  const letters: DeadLetter[] = []
  const stop = new AbortController()
  const faults: Error[] = []
  const subscription: Subscription<Letter> = {
    group: 'readers',
    topic,
    handle: async (batch) => {
      const ids = batch.map(({ value }) => value.id)
      calls.push(ids)
      const outcomes = handle(ids, calls.length)
      handled.push(...ids)
      return outcomes
    },
    ...rest,
  }
  const publishDeadLetters = async (sent: DeadLetter[]) => {
    const fault = faults.shift()
    if (fault) throw fault
    letters.push(...sent)
  }
  const log = createMemoryLog()
  const deliver = createDelivery(subscription, { publishDeadLetters, log, classifyError: classifyStoreError })
  return {
    deliver: (batch: RawRecord[]) => deliver(batch, stop.signal),
    /** The errors of the next calls that publish dead letters. */
    faults,
    calls,
    handled,
    letters,
    log,
    stop,
  }
}

const deadOffsets = (letters: DeadLetter[]) => letters.map(({ offset }) => Number(offset))

describe('delivery', () => {
  it('passes decoded records with their partition and offset', async () => {
    const deliveries: unknown[] = []
    const { deliver } = setUp(() => undefined, {
      handle: async (batch) => {
        deliveries.push(...batch)
        return undefined
      },
    })
    await deliver([raw(7)])
    expect(deliveries).toEqual([
      {
        topic: topic.name,
        partition: 3,
        offset: 7n,
        key: 'key-7',
        value: { id: 7 },
        headers: { from: 'test' },
      },
    ])
  })

  it('passes at most the requested number of records at once, in order', async () => {
    const { deliver, calls } = setUp(() => undefined, { maxBatchRecords: 2 })
    await deliver(records(5))
    expect(calls).toEqual([[0, 1], [2, 3], [4]])
  })

  it('passes 500 records at once by default', async () => {
    const { deliver, calls } = setUp(() => undefined)
    await deliver(records(501))
    expect(calls.map(({ length }) => length)).toEqual([500, 1])
  })
})

describe('a record that cannot be decoded', () => {
  it.each([
    ['not JSON', 'is not JSON'],
    ['', 'is not JSON'],
    ['{"id":', 'is not JSON'],
    ['null', "does not fit the topic's schema:  must be an object; got null"],
    ['{"id":"7"}', 'does not fit the topic\'s schema: id must be an integer; got "7"'],
    ['{}', "does not fit the topic's schema: id is required"],
  ])('goes to the dead letters at once: %j', async (value, reason) => {
    const { deliver, handled, letters } = setUp(() => undefined)
    await deliver([raw(0), raw(1, value), raw(2)])
    expect(handled).toEqual([0, 2])
    expect(letters).toMatchObject([
      {
        v: 1,
        group: 'readers',
        topic: topic.name,
        partition: 3,
        offset: '1',
        key: 'key-1',
        headers: { from: 'test' },
        value: Buffer.from(value).toString('base64'),
        reason,
      },
    ])
    expect(deadLetters.validator.check(letters[0])).toBeUndefined()
  })

  it('is stored byte for byte', async () => {
    const { deliver, letters, calls } = setUp(() => undefined)
    const value = Buffer.from([0xff, 0x00, 0xed, 0xa0, 0x80, 0x7b])
    await deliver([{ ...raw(1), value }])
    expect(Buffer.from(letters[0]?.value ?? '', 'base64')).toEqual(value)
    expect(calls).toEqual([])
  })

  it('becomes a valid dead letter of limited size, which says what was cut off', async () => {
    const { deliver, letters } = setUp(() => undefined)
    const headers = Object.fromEntries(
      Array.from({ length: 400 }, (_, n) => [`h${n}`, '\u0001'.repeat(10_000)]),
    )
    const key = '\u0001'.repeat(1_000_000)
    await deliver([{ ...raw(1), value: Buffer.alloc(4_194_304, 'x'), key, headers }])
    const [letter] = letters
    expect(JSON.stringify(letter).length).toBeLessThan(deadLetters.maxMessageBytes)
    expect(letter?.reason).toBe('is not JSON (only the first 2800000 of 4194304 bytes are kept)')
  })

  it('becomes a dead letter without U+0000, which PostgreSQL cannot store', async () => {
    const { deliver, letters } = setUp(() => [{ kind: 'dead', reason: 'why\0' }])
    await deliver([{ ...raw(1), key: 'a\0b', headers: { 'h\0': 'v\0', ['__proto__']: 'own' } }])
    expect(letters).toMatchObject([{ key: 'a\uFFFDb', reason: 'why\uFFFD' }])
    expect(JSON.stringify(letters[0]?.headers)).toBe('{"h\uFFFD":"v\uFFFD","__proto__":"own"}')
  })

  it('may be nested 100,000 levels', async () => {
    const { deliver, letters } = setUp(() => undefined)
    await deliver([raw(1, '['.repeat(100_000) + ']'.repeat(100_000))])
    expect(deadOffsets(letters)).toEqual([1])
  })
})

describe('a failure of a dependency', () => {
  it.each([
    ['PostgreSQL shutting down', databaseError('57P01')],
    ['a refused connection', databaseError('ECONNREFUSED')],
    ['a wrong password', databaseError('28P01')],
    ['a missing table', databaseError('42P01')],
    ['the bus', new BusUnavailableError('no leader')],
  ])('is retried until it ends, without loss or dead letters: %s', async (_, fault) => {
    const { deliver, calls, letters } = setUp((_ids, call) => {
      if (call <= 2) throw fault
      return undefined
    })
    await deliver(records(3))
    expect(calls).toEqual([
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
    ])
    expect(letters).toEqual([])
  })

  it.each(['57P01', '28P01', '42P01'])(
    'during the search for the invalid record does not blame others: %s',
    async (code) => {
      const { deliver, handled, letters } = setUp((ids, call) => {
        if (call >= 2 && call <= 4) throw databaseError(code)
        if (ids.includes(1)) throw databaseError('22003')
        return undefined
      })
      await deliver(records(4))
      expect(handled).toEqual([0, 2, 3])
      expect(deadOffsets(letters)).toEqual([1])
    },
  )

  it.each(['handling', 'publishing dead letters'])('does not delay a stop: %s', async (what) => {
    const inHandling = what === 'handling'
    const { deliver, stop, faults, log } = setUp(() => {
      if (inHandling) throw databaseError('57P01')
      return undefined
    })
    faults.push(...Array(10).fill(new BusUnavailableError('no leader')))
    const delivered = deliver([inHandling ? raw(0) : raw(0, 'poison')])
    await expect.poll(() => log.lines.some(({ level }) => level === 'warn'), { interval: 1 }).toBe(true)
    stop.abort()
    await expect(delivered).rejects.toThrow('abort')
  })
})

describe('a record that the store rejects', () => {
  it.each([
    [1, [0]],
    [2, [1]],
    [7, [0]],
    [7, [6]],
    [8, [3, 4]],
    [9, [0, 4, 8]],
    [5, [0, 1, 2, 3, 4]],
    [500, [123]],
  ])('is found among %i and is the only dead letter: %j', async (count, culprits) => {
    const { deliver, handled, letters } = setUp((ids) => {
      if (ids.some((id) => culprits.includes(id))) throw databaseError('22003')
      return undefined
    })
    const batch = records(count)
    await deliver(batch)
    expect(deadOffsets(letters)).toEqual(culprits)
    const innocent = batch.map(({ offset }) => Number(offset)).filter((id) => !culprits.includes(id))
    expect(handled).toEqual(innocent)
  })

  it('becomes a dead letter with a reason that does not contain the record', async () => {
    const { deliver, letters, log } = setUp(() => {
      throw databaseError('23505')
    })
    await deliver([raw(0)])
    expect(letters[0]?.reason).toBe('the store refused it: SQLSTATE 23505')
    expect(log.lines).toMatchObject([{ level: 'error', details: { offset: '0', partition: 3 } }])
  })

  it('waits until its dead letter is published', async () => {
    const { deliver, letters, faults } = setUp(() => {
      throw databaseError('22003')
    })
    faults.push(new BusUnavailableError('no leader'), new Error('anything'))
    await deliver([raw(0)])
    expect(deadOffsets(letters)).toEqual([0])
  })

  it('does not block other records of the batch, also when a bug fails on each', async () => {
    const { deliver, handled, letters } = setUp((ids) => {
      if (ids.includes(0)) throw databaseError('22003')
      if (ids.includes(2)) throw new TypeError('a bug')
      return undefined
    })
    await deliver(records(4))
    expect(handled).toEqual([1, 3])
    expect(letters.map(({ offset, reason }) => [offset, reason])).toEqual([
      ['0', 'the store refused it: SQLSTATE 22003'],
      ['2', 'TypeError: a bug'],
    ])
  })
})

describe('a record of a trace', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`
  const traced = { ...raw(0), headers: { traceparent } }

  it('is named in the log lines about the record', async () => {
    const { deliver, log } = setUp((_, call) => {
      if (call === 1) throw databaseError('57P01')
      return [
        { kind: 'drop', reason: 'seen' },
        { kind: 'dead', reason: 'odd' },
      ]
    })
    await deliver([traced, { ...traced, offset: 1n }])
    expect(log.lines.map(({ message, details }) => [message, details])).toMatchObject([
      ['Handling a record failed; retrying', { traceId }],
      ['Record dropped', { traceId }],
      ['Record moved to the dead letters', { traceId }],
    ])
  })

  it('includes the dead letter of the record', async () => {
    const published: OutgoingRecord<unknown>[] = []
    const publishDeadLetters = deadLettersTo({
      publish: async (_topic, letters) => void published.push(...letters),
    })
    const { deliver, letters } = setUp(() => undefined)
    await deliver([{ ...traced, value: Buffer.from('poison') }, raw(1, 'poison')])
    await publishDeadLetters(letters)
    expect(published.map(({ headers }) => headers)).toEqual([{ traceparent }, undefined])
  })
})

describe('an outcome', () => {
  it('reports the result of each record', async () => {
    const { deliver, letters, log } = setUp(() => [
      { kind: 'done' },
      { kind: 'drop', reason: 'seen before' },
      { kind: 'dead', reason: 'makes no sense' },
    ])
    await deliver(records(4))
    expect(letters.map(({ offset, reason }) => [offset, reason])).toEqual([['2', 'makes no sense']])
    expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { details: { group: 'readers', reason: 'seen before', offset: '1' } },
    ])
  })

  it('belongs to its record also after one that could not be decoded', async () => {
    const { deliver, letters } = setUp((ids) =>
      ids.map((id) => (id === 2 ? { kind: 'dead', reason: 'two' } : { kind: 'done' })),
    )
    await deliver([raw(0), raw(1, 'poison'), raw(2), raw(3)])
    expect(letters.map(({ offset, reason }) => [offset, reason])).toEqual([
      ['1', 'is not JSON'],
      ['2', 'two'],
    ])
  })
})
