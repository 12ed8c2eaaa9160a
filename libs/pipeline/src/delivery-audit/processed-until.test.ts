import type { ConsumerGroup } from '@waymark/contracts/topics'
import type { PartitionLag } from '@waymark/event-bus'
import { describe, expect, it } from 'vitest'
import { createProcessedUntil } from './processed-until.ts'

const SKEW_MS = 60_000

/** A pipeline of which a test moves the parts: partitions as `[next, end]` by group. */
const setUp = () => {
  const state = {
    now: 1_000_000,
    oldestWaiting: undefined as number | undefined,
    enrichment: [[0, 0]] as [number, number][],
    persistence: [[0, 0]] as [number, number][],
  }
  const partitionsOf = (group: string): PartitionLag[] =>
    state[group as 'enrichment' | 'persistence'].map(([next, end], partition) => ({
      partition,
      next: BigInt(next),
      end: BigInt(end),
    }))
  const look = createProcessedUntil({
    bus: {
      readLag: async (groups: readonly ConsumerGroup[]) =>
        groups.map(({ group, topic }) => ({
          group,
          topic: topic.name,
          records: 0,
          partitions: partitionsOf(group),
        })),
    },
    oldestWaiting: async () => state.oldestWaiting,
    now: () => state.now,
  })
  return { state, look }
}

describe('the time until which the pipeline has processed everything', () => {
  it('is that of an idle pipeline, less the difference of clocks', async () => {
    const { state, look } = setUp()
    expect(await look()).toBe(state.now - SKEW_MS)
    state.now += 5_000
    expect(await look()).toBe(state.now - SKEW_MS)
  })

  it('waits for what is in the outbox, and not for what comes later', async () => {
    const { state, look } = setUp()
    state.oldestWaiting = state.now - 1
    expect(await look()).toBe(Number.NEGATIVE_INFINITY)
    const begun = state.now
    state.now += 10_000
    state.oldestWaiting = begun + 1
    expect(await look()).toBe(begun - SKEW_MS)
  })

  it('waits until both groups have passed what was there, under constant load', async () => {
    const { state, look } = setUp()
    const begun = state.now
    state.enrichment = [
      [5, 10],
      [3, 3],
    ]
    expect(await look()).toBe(Number.NEGATIVE_INFINITY)
    state.now += 10_000
    // One record is left of those that were there; all later ones are irrelevant.
    state.enrichment = [
      [9, 1_000],
      [3, 500],
    ]
    expect(await look()).toBe(Number.NEGATIVE_INFINITY)
    state.enrichment = [
      [10, 2_000],
      [3, 900],
    ]
    state.persistence = [[7, 20]]
    expect(await look()).toBe(Number.NEGATIVE_INFINITY)
    state.persistence = [[19, 9_000]]
    expect(await look()).toBe(Number.NEGATIVE_INFINITY)
    state.persistence = [[20, 9_000]]
    expect(await look()).toBe(begun - SKEW_MS)
  })

  it('does not wait for a partition that was added later', async () => {
    const { state, look } = setUp()
    state.enrichment = [[0, 1]]
    expect(await look()).toBe(Number.NEGATIVE_INFINITY)
    state.enrichment = [
      [1, 1],
      [0, 7],
    ]
    expect(await look()).toBe(state.now - SKEW_MS)
  })

  it('continues where it was after the queue did not answer', async () => {
    const { state, look } = setUp()
    state.enrichment = [[0, 1]]
    const begun = state.now
    await look()
    const { enrichment } = state
    state.enrichment = undefined as never
    await expect(look()).rejects.toThrow()
    state.enrichment = enrichment
    state.now += 10_000
    state.enrichment = [[1, 2]]
    expect(await look()).toBe(begun - SKEW_MS)
  })
})
