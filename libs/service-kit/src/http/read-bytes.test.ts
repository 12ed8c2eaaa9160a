import { Readable } from 'node:stream'
import { expect, it, vi } from 'vitest'
import { bodyTimeMs, readBody } from './read-bytes.ts'
import type { HttpRequest } from './request.ts'

const KIB = 1024

it.each([
  ['a body of 16 KiB', 256 * KIB, `${16 * KIB}`, 10_000],
  ['a body without a length, of at most 16 KiB', 16 * KIB, undefined, 10_000],
  ['a body of 1 MiB', 1024 * KIB, `${1024 * KIB}`, 32_000],
  ['a body that says it is larger than its limit', 16 * KIB, '999999999', 10_000],
])('%s has a time of its own', (_what, limit, length, time) => {
  expect(bodyTimeMs(limit, length)).toBe(time)
})

it('refuses a body that does not arrive in its time, and counts the deadline of the answer from then', async () => {
  const timer = { refresh: vi.fn() }
  const headers = { 'content-length': '4' }
  const message = Object.assign(new Readable({ read: () => {} }), {
    headers,
    complete: false,
    socket: { readable: true },
  })
  message.push('ab')
  const reading = readBody({ message, deadline: { timer } } as unknown as HttpRequest, KIB, 1)
  await expect(reading).rejects.toMatchObject({ code: 'request_timeout' })
  expect(timer.refresh).toHaveBeenCalledOnce()
})
