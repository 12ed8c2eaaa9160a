import { Readable } from 'node:stream'
import { MAX_BODY_PART_VALUES, MAX_BODY_VALUES } from '@waymark/contracts/http/operation'
import { describe, expect, it } from 'vitest'
import { readJsonBody } from './json-body.ts'
import type { HttpRequest } from './request.ts'

const KIB = 1024
const PARSED_AT_ONCE = 64 * KIB

const read = (json: string) => {
  const headers = { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(json)}` }
  const message = Object.assign(Readable.from([Buffer.from(json)]), {
    headers,
    complete: true,
    socket: { readable: true },
  })
  return readJsonBody({ message } as unknown as HttpRequest, 2 * KIB * KIB)
}
/** A list with this many values, padded with white space to this many bytes. */
const listOf = (values: number, bytes = 0) => `[${'1,'.repeat(values - 1)}1]`.padEnd(bytes)

describe('a JSON body of over 64 KiB', () => {
  it('may hold as many values as the limit, and not one more', async () => {
    expect((await read(listOf(MAX_BODY_VALUES))).value).toHaveLength(MAX_BODY_VALUES)
    await expect(read(listOf(MAX_BODY_VALUES + 1))).rejects.toMatchObject({
      code: 'payload_too_large',
      message: expect.stringContaining(`more than ${MAX_BODY_VALUES} values`),
    })
  })

  it('may hold fewer in one item of its list', async () => {
    // The inner list is a value, too.
    const body = (values: number) => `{"events":[${listOf(values - 1)}]}`.padEnd(PARSED_AT_ONCE + 1)
    expect((await read(body(MAX_BODY_PART_VALUES))).value).toMatchObject({
      events: [{ length: MAX_BODY_PART_VALUES - 1 }],
    })
    await expect(read(body(MAX_BODY_PART_VALUES + 1))).rejects.toMatchObject({
      code: 'payload_too_large',
      message: expect.stringContaining(`A part of the body holds more than ${MAX_BODY_PART_VALUES} values`),
    })
  })

  it('is refused like a shorter one when it is not JSON, or holds a number that is out of range', async () => {
    for (const padded of [0, PARSED_AT_ONCE + 1]) {
      await expect(read('[1,]'.padEnd(padded))).rejects.toMatchObject({
        message: 'The body is not valid JSON',
      })
      await expect(read('[1e400]'.padEnd(padded))).rejects.toMatchObject({
        message: 'The body holds a number that is out of range',
      })
    }
  })

  it('is not limited when it is shorter', async () => {
    const body = `[${listOf(15_000)},${'[],'.repeat(500)}[]]`
    expect(body.length).toBeLessThan(PARSED_AT_ONCE)
    expect((await read(body)).value).toHaveLength(502)
  })
})
