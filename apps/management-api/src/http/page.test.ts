import { MAX_PAGE_BYTES } from '@waymark/contracts/http/page'
import { describe, expect, it } from 'vitest'
import { fillPage } from './page.ts'

/** Pages of the numbers from 1 to `count`, each shown as a text of so many bytes of JSON. */
const pageOfNumbers = async (count: number, { limit = 500, bytes = 3 }) => {
  const reads: number[] = []
  const { data, last } = await fillPage(
    limit,
    (record: number) => `${record}`.padEnd(bytes - '""'.length),
    async (previous = 0, take) => {
      reads.push(take)
      return Array.from({ length: Math.min(take, count - previous) }, (_, n) => previous + n + 1)
    },
  )
  if (last !== undefined) expect(last).toBe(Number(data.at(-1)))
  return { records: data.map(Number), hasMore: last !== undefined, reads }
}

describe('a page', () => {
  it.each([
    [0, 50, 0, false],
    [49, 50, 49, false],
    [50, 50, 50, false],
    [51, 50, 50, true],
    [499, 500, 499, false],
    [500, 500, 500, false],
    [501, 500, 500, true],
  ])('of %d records with the limit %d holds %d', async (count, limit, length, hasMore) => {
    const page = await pageOfNumbers(count, { limit })
    expect(page).toMatchObject({ records: Array.from({ length }, (_, n) => n + 1), hasMore })
  })

  it('is read in chunks that follow the size of the records', async () => {
    expect((await pageOfNumbers(1_000, { limit: 60 })).reads).toEqual([5, 25, 31])
    expect((await pageOfNumbers(1_000, { limit: 19, bytes: 32 * 1024 })).reads).toEqual([5, 4, 4, 4, 3])
    expect((await pageOfNumbers(1_000, { limit: 6, bytes: 200_000 })).reads).toEqual([5, 1, 1])
  })

  it('ends with the record that reaches the byte limit', async () => {
    const bytes = MAX_PAGE_BYTES / 4
    expect(await pageOfNumbers(4, { bytes })).toMatchObject({ records: [1, 2, 3, 4], hasMore: false })
    expect(await pageOfNumbers(5, { bytes })).toMatchObject({ records: [1, 2, 3, 4], hasMore: true })
    expect(await pageOfNumbers(4, { bytes: bytes + 1 })).toMatchObject({ records: [1, 2, 3], hasMore: true })
  })

  it('contains at least one record of any size', async () => {
    const bytes = MAX_PAGE_BYTES + 1
    expect(await pageOfNumbers(1, { bytes })).toMatchObject({ records: [1], hasMore: false })
    expect(await pageOfNumbers(2, { bytes })).toMatchObject({ records: [1], hasMore: true })
  })
})
