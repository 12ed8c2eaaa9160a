import { describe, expect, it } from 'vitest'
import { fetchWithRetries } from './retry.ts'

/** Answers with one status after the other, and records bodies and waits. */
const scenario = (answers: (number | [number, Record<string, string>] | Error)[]) => {
  const bodies: string[] = []
  const waits: number[] = []
  const send = async (request: Request) => {
    bodies.push(await request.text())
    const answer = answers[bodies.length - 1] ?? 200
    if (answer instanceof Error) throw answer
    const [status, headers] = typeof answer === 'number' ? [answer, {}] : answer
    return new Response(null, { status, headers })
  }
  const wait = async (ms: number) => {
    waits.push(ms)
  }
  const run = async (isRepeatable: boolean, retry: { attempts?: number; maxWaitMs?: number } = {}) => {
    const request = new Request('http://waymark.test', { method: 'POST', body: 'the body' })
    return (await fetchWithRetries(send, request, isRepeatable, { ...retry, wait })).status
  }
  return { run, bodies, waits }
}

describe('a request', () => {
  it('is sent once when it succeeds', async () => {
    const { run, bodies, waits } = scenario([200])
    expect(await run(true)).toBe(200)
    expect([bodies, waits]).toEqual([['the body'], []])
  })

  it('is sent again after the time in Retry-After, with its body', async () => {
    const { run, bodies, waits } = scenario([
      [429, { 'Retry-After': '7' }],
      [503, { 'Retry-After': '0' }],
      200,
    ])
    expect(await run(true)).toBe(200)
    expect(bodies).toEqual(['the body', 'the body', 'the body'])
    expect(waits).toEqual([7_000, 0])
  })

  it('understands a date in Retry-After, also one that has passed', async () => {
    const { run, waits } = scenario([[429, { 'Retry-After': 'Fri, 01 Jan 2021 00:00:00 GMT' }]])
    expect(await run(true)).toBe(200)
    expect(waits).toEqual([0])
  })

  it('waits longer with each attempt where the server names no time', async () => {
    const { run, waits } = scenario([503, 502, 504])
    expect(await run(true)).toBe(200)
    expect(waits.map((ms, index) => ms >= 250 * 2 ** index && ms <= 500 * 2 ** index)).toEqual([
      true,
      true,
      true,
    ])
  })

  it('is given up after the attempts, with the last answer', async () => {
    const { run, bodies } = scenario([503, 503, 503, 503, 503])
    expect(await run(true)).toBe(503)
    expect(bodies).toHaveLength(4)
    const never = scenario([503])
    expect(await never.run(true, { attempts: 0 })).toBe(503)
    expect(never.bodies).toHaveLength(1)
  })

  it('is not sent again when the wait is over the limit', async () => {
    const exact = scenario([[429, { 'Retry-After': '60' }]])
    expect([await exact.run(true), exact.waits]).toEqual([200, [60_000]])
    const over = scenario([[429, { 'Retry-After': '61' }]])
    expect([await over.run(true), over.waits]).toEqual([429, []])
  })

  it('is sent again after a broken connection', async () => {
    const { run, bodies } = scenario([new TypeError('fetch failed'), 200])
    expect(await run(true)).toBe(200)
    expect(bodies).toHaveLength(2)
    const down = new TypeError('fetch failed')
    await expect(scenario([down, down, down, down]).run(true)).rejects.toBe(down)
  })

  it('that may have been handled and must not be repeated is sent again after 429 only', async () => {
    const refused = scenario([429, 503])
    expect(await refused.run(false)).toBe(503)
    expect(refused.bodies).toHaveLength(2)
    const broken = new TypeError('fetch failed')
    await expect(scenario([broken]).run(false)).rejects.toBe(broken)
  })

  it.each([400, 401, 404, 409, 500])('with an answer of %i is not sent again', async (status) => {
    const { run, bodies } = scenario([status])
    expect(await run(true)).toBe(status)
    expect(bodies).toHaveLength(1)
  })
})
