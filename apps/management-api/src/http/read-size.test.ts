import { expect, it } from 'vitest'
import { createReadSize } from './read-size.ts'

const KIB = 1024

it('begins with five records', () => {
  expect(createReadSize(25).records()).toBe(5)
  expect(createReadSize(3).records()).toBe(3)
})

it('reads more small records, growing to its maximum', () => {
  const size = createReadSize(100)
  const seen = Array.from({ length: 4 }, () => {
    size.note(size.records(), size.records() * 500)
    return size.records()
  })
  expect(seen).toEqual([25, 100, 100, 100])
})

it('reads 128 KiB of large records, and at least one', () => {
  const size = createReadSize(100)
  size.note(5, 5 * 24 * KIB)
  expect(size.records()).toBe(5)
  size.note(5, 5 * 32 * KIB)
  expect(size.records()).toBe(4)
  size.note(4, 4 * 64 * KIB)
  expect(size.records()).toBe(2)
  size.note(2, 2 * 4096 * KIB)
  expect(size.records()).toBe(1)
})

it('keeps its size after an empty read', () => {
  const size = createReadSize(100)
  size.note(0, 0)
  expect(size.records()).toBe(5)
})
