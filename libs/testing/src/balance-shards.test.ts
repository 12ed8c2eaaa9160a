import { expect, it } from 'vitest'
import { balanceShards } from './balance-shards.ts'

const nameOf = (file: string): string => file
const balance = (times: Record<string, number | undefined>, shards: number) =>
  balanceShards(Object.keys(times), shards, { nameOf, timeOf: (file) => times[file] })

it('gives the longest file to the shard that has the least to do', () => {
  expect(balance({ a: 10, b: 9, c: 6, d: 5, e: 1 }, 2)).toEqual([
    ['a', 'd', 'e'],
    ['b', 'c'],
  ])
})

it('takes the median for a file without a time', () => {
  expect(balance({ a: 100, new: undefined, b: 50, c: 10 }, 2)).toEqual([
    ['a', 'c'],
    ['b', 'new'],
  ])
})

it('finds the same distribution for the same files in another order', () => {
  const times = { a: 1, b: 1, c: 1, d: undefined }
  const reversed = Object.fromEntries(Object.entries(times).toReversed())
  expect(balance(reversed, 3)).toEqual(balance(times, 3))
})

it('leaves shards empty when there are fewer files', () => {
  expect(balance({ a: 1 }, 3)).toEqual([['a'], [], []])
})
