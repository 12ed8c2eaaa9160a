import { Readable } from 'node:stream'
import { MAX_BODY_VALUES } from '@waymark/contracts'
import { describe, expect, it } from 'vitest'
import { hasMoreValuesThan, readJsonBody } from './json-body.ts'
import type { HttpRequest } from './request.ts'

const MIB = 1024 * 1024

const read = (json: string) => {
  const headers = { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(json)}` }
  const message = Object.assign(Readable.from([Buffer.from(json)]), {
    headers,
    complete: true,
    socket: { readable: true },
  })
  return readJsonBody({ message } as unknown as HttpRequest, 2 * MIB)
}
/** A list with this many values, padded with white space to this many bytes. */
const listOf = (values: number, bytes: number) => `[${'1,'.repeat(values - 1)}1]`.padEnd(bytes)

describe('a JSON body of over 1 MiB', () => {
  it('may hold as many values as the limit, and not one more', async () => {
    expect((await read(listOf(MAX_BODY_VALUES, MIB + 1))).value).toHaveLength(MAX_BODY_VALUES)
    await expect(read(listOf(MAX_BODY_VALUES + 1, MIB + 1))).rejects.toMatchObject({
      code: 'payload_too_large',
      message: expect.stringContaining(`more than ${MAX_BODY_VALUES} values`),
    })
  })

  it('is not counted when it is smaller', async () => {
    expect((await read(listOf(MAX_BODY_VALUES + 1, MIB))).value).toHaveLength(MAX_BODY_VALUES + 1)
  })
})

describe('the values of JSON', () => {
  it.each([
    ['[1,2,3]', 3],
    ['{"a":1,"b":2}', 2],
    ['[ [], { },[1,2]]', 5],
    ['{"a":{"b":[1]}}', 3],
    ['["a,b[c{d","\\"],[{","\\\\",1]', 4],
    ['[[[', 2],
    ['[]', 0],
    ['7', 0],
  ])('of %s are %d', (json, count) => {
    const bytes = Buffer.from(json)
    expect(hasMoreValuesThan(count, bytes)).toBe(false)
    if (count > 0) expect(hasMoreValuesThan(count - 1, bytes)).toBe(true)
  })
})
