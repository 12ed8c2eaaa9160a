import { setImmediate } from 'node:timers/promises'
import type { DeadLetter } from '@waymark/contracts/records/quarantine-records'
import { deadLetters, type Topic } from '@waymark/contracts/topics'
import { compileValidator } from '@waymark/contracts/validator'
import { eventually } from '@waymark/testing'
import { Type } from 'typebox'
import { afterEach, expect, it } from 'vitest'
import type { Consumer, EventBus, Subscription } from '../src/port.ts'

/** The harness of an adapter for the contract suite. Each call creates topics and groups that no other test uses. */
export type Harness = {
  /** Opens a bus on the topics of this test. Opening it again keeps their records. */
  open(): Promise<EventBus>
  /** Writes text to a topic that no publisher would write. Only before the bus is opened. */
  publishRaw(topic: string, key: string, value: string): Promise<void>
  dispose(): Promise<void>
}

const Numbered = Type.Object({ n: Type.Integer(), person: Type.String() })
type Numbered = { n: number; person: string }

/** A topic of the suite. Harnesses create it under this name. */
export const numbered: Topic<Numbered> = {
  name: 'numbered.v1',
  validator: compileValidator(Numbered, { showReceived: false }),
  retentionMs: 60_000,
  maxMessageBytes: 1_048_588,
}

const record = (person: string, n: number) => ({ key: person, value: { n, person } })
/** Without repeats: delivery is at least once, and a group that rejoins gets uncommitted records again. */
const distinct = (numbers: readonly number[]) => [...new Set(numbers)]
const range = (count: number) => Array.from({ length: count }, (_, n) => n)

/** The contract of an event bus, asserted on one adapter. */
export const describeEventBus = (createHarness: () => Promise<Harness>): void => {
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  const startHarness = async (): Promise<Harness> => {
    const harness = await createHarness()
    cleanUps.push(() => harness.dispose())
    return harness
  }

  const openBus = async (harness: Harness): Promise<EventBus> => {
    const bus = await harness.open()
    cleanUps.push(() => bus.close())
    return bus
  }

  const consume = async <T>(bus: EventBus, subscription: Subscription<T>): Promise<Consumer> => {
    const consumer = bus.subscribe(subscription)
    let stopped: Promise<void> | undefined
    const once = { start: consumer.start, stop: () => (stopped ??= consumer.stop()) }
    cleanUps.push(once.stop)
    await once.start()
    return once
  }

  /** Collects the deliveries of a group. */
  const collect = (bus: EventBus, group: string, seen: Numbered[]) =>
    consume(bus, {
      group,
      topic: numbered,
      handle: async (batch) => {
        seen.push(...batch.map(({ value }) => value))
        return undefined
      },
    })

  it('delivers every record to every group, in the order of each key', async () => {
    const bus = await openBus(await startHarness())
    const [one, two]: [Numbered[], Numbered[]] = [[], []]
    await collect(bus, 'one', one)
    const people = range(40).map((n) => `person-${n}`)
    for (const n of range(25))
      await Promise.all(people.map((person) => bus.publish(numbered, [record(person, n)])))
    await collect(bus, 'two', two)

    const firsts = (seen: Numbered[]) => [...new Set(seen.map(({ person, n }) => `${person} ${n}`))]
    for (const seen of [one, two]) {
      // A new topic may refuse some of the first records. The whole batch is then sent again.
      await eventually('all 1,000 records arrive', () => firsts(seen).length === 1_000)
      for (const person of people) {
        const ofPerson = seen.filter((value) => value.person === person)
        expect(firsts(ofPerson)).toEqual(range(25).map((n) => `${person} ${n}`))
      }
    }
  })

  it('redelivers exactly the records that a stopped consumer had not finished', async () => {
    const harness = await startHarness()
    const first = await openBus(harness)
    await first.publish(numbered, [record('ann', 1)])
    const finished: Numbered[] = []
    const orderly = await collect(first, 'group', finished)
    await eventually('the first record is handled', () => finished.length === 1)
    await orderly.stop()

    await first.publish(numbered, [record('ann', 2), record('ann', 3)])
    let attempts = 0
    const failing = await consume(first, {
      group: 'group',
      topic: numbered,
      handle: async () => {
        attempts++
        throw Object.assign(new Error('the store is unavailable'), { code: '57P01' })
      },
    })
    await eventually('the consumer has tried', () => attempts > 0)
    await failing.stop()
    await first.close()

    const again: Numbered[] = []
    await collect(await openBus(harness), 'group', again)
    const numbers = () => distinct(again.map(({ n }) => n))
    await eventually('the others come again', () => numbers().length >= 2)
    expect(numbers()).toEqual([2, 3])
  })

  it('counts the records that each group has yet to process', async () => {
    const bus = await openBus(await startHarness())
    const lag = async () => {
      const groups = ['one', 'two'].map((group) => ({ group, topic: numbered }))
      // A busy broker may answer later than the bus waits.
      const lags = await eventually('the lag is read', () => bus.readLag(groups))
      expect(lags.map(({ group, topic }) => [group, topic])).toEqual([
        ['one', numbered.name],
        ['two', numbered.name],
      ])
      for (const { records, partitions } of lags)
        expect(partitions.reduce((sum, { next, end }) => sum + Number(end - next), 0)).toBe(records)
      return lags.map(({ records }) => records)
    }
    // The first group of a broker waits until its coordinator is ready.
    await eventually('nothing waits', async () => (await lag()).every((records) => records === 0))
    const seen: Numbered[] = []
    const one = await collect(bus, 'one', seen)
    const publish = () => Promise.all(range(30).map((n) => bus.publish(numbered, [record(`person-${n}`, n)])))
    await publish()
    await eventually('one group has processed all', async () => (await lag())[0] === 0)
    const [, kept = 0] = await lag()
    // A record may be written twice.
    expect(kept).toBeGreaterThanOrEqual(30)
    await one.stop()
    await publish()
    const [waiting = 0, all = 0] = await lag()
    expect(waiting).toBeGreaterThanOrEqual(30)
    expect(all).toBe(kept + waiting)
    expect(await bus.readLag([])).toEqual([])
  })

  it('retries while a dependency is unavailable, in order and without loss', async () => {
    const bus = await openBus(await startHarness())
    const seen: number[] = []
    let failures = 3
    await consume(bus, {
      group: 'group',
      topic: numbered,
      maxBatchRecords: 2,
      handle: async (batch) => {
        if (failures-- > 0) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
        seen.push(...batch.map(({ value }) => value.n))
        return undefined
      },
    })
    await bus.publish(
      numbered,
      range(5).map((n) => record('ann', n)),
    )
    await eventually('all arrive', () => distinct(seen).length >= 5)
    expect(distinct(seen)).toEqual(range(5))
  })

  it('writes dead letters for records that cannot be read or stored, and continues', async () => {
    const harness = await startHarness()
    await harness.publishRaw(numbered.name, 'ann', 'not json')
    await harness.publishRaw(numbered.name, 'ann', '{"n":"not a number","person":"ann"}')
    const bus = await openBus(harness)
    const seen: number[] = []
    const letters: DeadLetter[] = []
    await consume(bus, {
      group: 'letters',
      topic: deadLetters,
      handle: async (batch) => {
        letters.push(...batch.map(({ value }) => value))
        return undefined
      },
    })
    await bus.publish(
      numbered,
      range(8).map((n) => record('ann', n)),
    )
    await consume(bus, {
      group: 'group',
      topic: numbered,
      handle: async (batch) => {
        const poison = batch.some(({ value }) => value.n === 3)
        if (poison) throw Object.assign(new Error('value out of range'), { code: '22003' })
        seen.push(...batch.map(({ value }) => value.n))
        return batch.map(({ value }) =>
          value.n === 6 ? { kind: 'dead', reason: 'unwanted' } : { kind: 'done' },
        )
      },
    })

    await eventually('four dead letters', () => new Set(letters.map(({ reason }) => reason)).size >= 4)
    await eventually('the rest is handled', () => distinct(seen).length >= 7)
    expect(distinct(seen)).toEqual([0, 1, 2, 4, 5, 6, 7])
    expect(new Set(letters.map(({ reason }) => reason))).toEqual(
      new Set([
        'is not JSON',
        "does not fit the topic's schema: n must be an integer",
        'unwanted',
        'the store refused it: SQLSTATE 22003',
      ]),
    )
    const unreadable = letters.find(({ reason }) => reason === 'is not JSON')
    expect(unreadable).toMatchObject({ group: 'group', topic: numbered.name, key: 'ann' })
    expect(Buffer.from(unreadable?.value ?? '', 'base64').toString()).toBe('not json')
  })

  it('shares partitions in a group: one member per key at a time, and no loss when members join and leave', async () => {
    const bus = await openBus(await startHarness())
    const seen = new Map<string, number[]>()
    const busy = new Set<string>()
    let overlaps = 0
    const member = () =>
      consume(bus, {
        group: 'group',
        topic: numbered,
        maxBatchRecords: 10,
        handle: async (batch) => {
          const partition = `${batch[0]?.partition}`
          if (busy.has(partition)) overlaps++
          busy.add(partition)
          await setImmediate()
          for (const { value } of batch) seen.set(value.person, [...(seen.get(value.person) ?? []), value.n])
          busy.delete(partition)
          return undefined
        },
      })
    const people = range(20).map((n) => `person-${n}`)
    const publishRound = (round: number) =>
      bus.publish(
        numbered,
        people.flatMap((person) => range(20).map((n) => record(person, round * 20 + n))),
      )

    const first = await member()
    await publishRound(0)
    const second = await member()
    await publishRound(1)
    await eventually('the first two rounds arrive', () =>
      people.every((person) => (seen.get(person)?.length ?? 0) >= 40),
    )
    await first.stop()
    await publishRound(2)
    await eventually('the third round arrives', () =>
      people.every((person) => new Set(seen.get(person)).size >= 60),
    )
    await second.stop()

    expect(overlaps).toBe(0)
    for (const person of people) {
      const distinct = [...new Set(seen.get(person))]
      expect(distinct).toEqual(range(60))
    }
  })

  it('passes one batch per partition at a time', async () => {
    const bus = await openBus(await startHarness())
    const batches = new Map<number, number>()
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const handled = new Set<number>()
    await consume(bus, {
      group: 'group',
      topic: numbered,
      maxBatchRecords: 50,
      handle: async (batch) => {
        const partition = batch[0]?.partition ?? -1
        batches.set(partition, (batches.get(partition) ?? 0) + 1)
        await released
        for (const { value } of batch) handled.add(value.n)
        return undefined
      },
    })
    const publish = (numbers: readonly number[]) =>
      bus.publish(
        numbered,
        numbers.map((n) => record(`person-${n % 50}`, n)),
      )
    await publish(range(2_000))
    await eventually('a handler is busy', () => batches.size > 0)
    await publish(range(2_000).map((n) => 2_000 + n))
    expect([...batches.values()].every((count) => count === 1)).toBe(true)
    release()
    await eventually('everything is handled afterwards', () => handled.size >= 4_000)
    expect(handled).toEqual(new Set(range(4_000)))
  })

  it('keeps the order of concurrent publishers and resolves each', async () => {
    const bus = await openBus(await startHarness())
    const seen: Numbered[] = []
    await collect(bus, 'group', seen)
    await Promise.all(range(500).map((n) => bus.publish(numbered, [record(`person-${n % 7}`, n)])))
    await eventually('all arrive', () => new Set(seen.map(({ n }) => n)).size >= 500)
    for (const person of range(7).map((n) => `person-${n}`)) {
      // A record may be delivered twice, the second time after later ones.
      const numbers = [...new Set(seen.filter((value) => value.person === person).map(({ n }) => n))]
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
    }
  })
}
