import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeUnlabelled } from './unlabelled-body.ts'

const LIMIT = 1_000
const decode = async (bytes: Buffer | string) =>
  (await decodeUnlabelled(Buffer.from(bytes), LIMIT)).toString()
const JSON_BODY = '{"event":"a~?>>ÿ"}'
const BASE64 = Buffer.from(JSON_BODY).toString('base64')

describe('a body without a header that says its encoding', () => {
  it.each([
    ['JSON', JSON_BODY],
    ['gzip', gzipSync(JSON_BODY)],
    ['base64 in a form', `data=${encodeURIComponent(BASE64)}`],
    ['base64 in a form that is not escaped', `data=${BASE64}`],
    ['base64 in a form with another field', `data=${encodeURIComponent(BASE64)}&ver=1.0`],
  ])('is decoded from %s', async (_what, body) => {
    expect(BASE64).toMatch(/[+/]/)
    expect(await decode(body)).toBe(JSON_BODY)
  })

  it.each(['', 'data', 'data=', 'data={"event":"e"}', 'text', 'database'])('stays %j', async (body) => {
    expect(await decode(body)).toBe(body)
  })

  it('may be as large as the limit when it is decompressed, and no larger', async () => {
    expect(await decode(gzipSync('x'.repeat(LIMIT)))).toHaveLength(LIMIT)
    await expect(decode(gzipSync('x'.repeat(LIMIT + 1)))).rejects.toMatchObject({ code: 'payload_too_large' })
  })

  it('is refused when its gzip is damaged', async () => {
    await expect(decode(gzipSync(JSON_BODY).subarray(0, 15))).rejects.toMatchObject({ code: 'bad_request' })
  })
})
