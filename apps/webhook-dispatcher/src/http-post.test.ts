import { startRawServer } from '@waymark/testing/unit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createHttpPost } from './http-post.ts'
import { retryAfterMs } from './retry-after.ts'

const lines = fc.constantFrom(
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Content-Encoding: gzip',
  'Retry-After: 999999999999999999999999',
  'Retry-After: soon',
  'Connection: upgrade',
  'Upgrade: h2c',
  'Location: javascript:alert(1)',
  ': none',
  'A: \0',
)
const bodies = fc.oneof(fc.string(), fc.constantFrom('5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', '\0', '\u00e4'))
const answers = fc.oneof(
  fc
    .tuple(
      fc.oneof(fc.integer({ min: 0, max: 1_200 }), fc.constantFrom(101, 103, 204, 304)),
      fc.array(lines),
      bodies,
    )
    .map(([status, headers, body]) => `HTTP/1.1 ${[`${status} x`, ...headers, '', body].join('\r\n')}`),
  fc.constantFrom('', 'HTTP/1.1 200 OK\r\n', 'HTTP/9.9 200 OK\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n'),
  fc.string({ unit: 'binary' }),
)

it('takes any answer of an endpoint for an outcome', async () => {
  let answer = ''
  const server = await startRawServer(() => Buffer.from(answer))
  const { post, close } = createHttpPost({ allowPrivateAddresses: true, timeoutMs: 2_000 })
  try {
    await fc.assert(
      fc.asyncProperty(answers, async (given) => {
        answer = given
        const outcome = await post({ url: `http://127.0.0.1:${server.port}/`, headers: {}, body: '{}' })
        expect(['answered', 'unanswered']).toContain(outcome.kind)
        if (outcome.kind !== 'answered') return
        expect(outcome.body.isWellFormed() && !outcome.body.includes('\0')).toBe(true)
        expect(retryAfterMs(outcome.retryAfter, Date.now())).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: 60 },
    )
  } finally {
    await close()
    await server.close()
  }
})
