import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Processes, startProcesses } from './start-processes.ts'

/** Requests at a time; each limit below is a multiple of it. */
const TOGETHER = 20

describe.skipIf(!services)('the rate limit of decisions', () => {
  let processes: Processes
  beforeAll(async () => {
    processes = await startProcesses(2)
    await processes.setOwnLimit(null)
  })
  afterAll(() => processes?.stop())

  const post = (path: string, n: number, key = processes.apiKey) =>
    fetch(`http://localhost:${processes.ports[n % processes.ports.length]}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
      body: JSON.stringify({ visitorId: 'v', context: { targetingKey: 'v' } }),
    })

  it.each(['/api/v1/decide', '/ofrep/v1/evaluate/flags'])(
    'is 30 per minute over all processes by default: %s',
    async (path) => {
      // Together, because all of them must fit into a minute.
      const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => post(path, n)))
      expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(200))
      for (let n = 30; n < 32; n++) {
        const refused = await post(path, n)
        expect(refused.status).toBe(429)
        const error = /^Too many requests: at most 30 .* set by LIMIT_DECIDE_PER_MINUTE$/
        const ofOfrep = { errorCode: 'GENERAL', errorDetails: expect.stringMatching(error) }
        expect(await refused.json()).toEqual({
          error: expect.stringMatching(error),
          retryAfter: expect.any(Number),
          ...(path.startsWith('/ofrep/') && ofOfrep),
        })
        expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
      }
    },
  )

  it('follows the limit of a server key in every process within 5 s', async () => {
    const path = '/ofrep/v1/evaluate/flags/any'
    // More than are sent until both processes know.
    await processes.setOwnLimit(200)
    const limitAt = async (n: number) => (await post(path, n)).headers.get('RateLimit-Limit')
    await eventually(
      'both processes know of the limit',
      async () => (await limitAt(0)) === '200' && (await limitAt(1)) === '200',
    )
    const statuses: number[] = []
    // Many together, because all of them must fit into a minute.
    for (let n = 0; n < 200; n += TOGETHER) {
      const answers = await Promise.all(Array.from({ length: TOGETHER }, (_, more) => post(path, n + more)))
      statuses.push(...answers.map(({ status }) => status))
    }
    for (let n = 0; n < 2; n++) statuses.push((await post(path, n)).status)
    const answered = statuses.filter((status) => status === 404).length
    expect(answered).toBeGreaterThan(0)
    // Two were counted when both processes knew.
    expect(answered).toBeLessThanOrEqual(200 - 2)
    expect(statuses.slice(-2)).toEqual([429, 429])
    const refused = await post(path, 0)
    expect(await refused.json()).toMatchObject({
      error: expect.stringMatching(/at most 200 .* set by requestsPerMinute of the API key$/),
    })
  })

  it.each([
    ['40, exactly over all processes', 40, 2],
    // Larger ones are counted by each process, which shares its counts.
    ['1,200, of one process', 1_200, 1],
  ])('is that of the key alone for bulk and single evaluation: %s', async (_what, limit, used) => {
    const key = await processes.addKey(limit)
    const paths = ['/ofrep/v1/evaluate/flags', '/ofrep/v1/evaluate/flags/any']
    const ask = async (n: number) => post(paths[Math.floor(n / 2) % 2] ?? '', n % used, key)
    const statuses = new Set<number>()
    // Many together, because all of them must fit into a minute.
    for (let n = 0; n < limit; n += TOGETHER) {
      const answers = await Promise.all(Array.from({ length: TOGETHER }, (_, more) => ask(n + more)))
      for (const { status } of answers) statuses.add(status)
    }
    // No flag is called any, which is answered after the limit was checked.
    expect(statuses).toEqual(new Set([200, 404]))
    for (let n = limit; n < limit + 4; n++) {
      const refused = await ask(n)
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({
        error: expect.stringMatching(
          new RegExp(`at most ${limit} .* set by requestsPerMinute of the API key$`),
        ),
      })
    }
  })
})
