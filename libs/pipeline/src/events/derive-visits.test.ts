import { expect, it } from 'vitest'
import { createDeriveVisits, type DeriveVisitsDeps } from './derive-visits-queries.ts'

const HOUR_MS = 3_600_000

/** Runs once while another process has the lock or not, on a store with or without a due day. */
const runWith = async ({ locked, due }: { locked: boolean; due: boolean }) => {
  const asked: unknown[] = []
  const client = { query: async () => ({ rows: [{ locked }] }) }
  const deriveVisits = createDeriveVisits({
    db: {
      transaction: (work: (one: unknown) => unknown) => work(client),
    } as unknown as DeriveVisitsDeps['db'],
    eventStore: {
      deriveVisits: async (days) => {
        asked.push(days)
        return due
      },
    },
    now: () => 10 * HOUR_MS,
  })
  return { derived: await deriveVisits(), asked }
}

it('derives a day that has ended, and one that changed an hour ago', async () => {
  const asked = [{ endedBefore: 10 * HOUR_MS, changedBefore: 9 * HOUR_MS }]
  expect(await runWith({ locked: true, due: true })).toEqual({ derived: 1, asked })
  expect(await runWith({ locked: true, due: false })).toEqual({ derived: 0, asked })
})

it('derives nothing while another process does', async () => {
  expect(await runWith({ locked: false, due: true })).toEqual({ derived: 0, asked: [] })
})
