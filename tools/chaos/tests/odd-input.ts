import { untilAvailable } from '@waymark/testing'
import { expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import type { Fleet, Replica } from './fleet.ts'
import type { Load } from './load.ts'
import { unexplained } from './probes.ts'

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

/** Unusual properties as sent by clients. They must neither break a store nor be lost. */
const properties: Record<string, string> = {
  'U+0000': '{"text":"a\\u0000b","k\\u0000":1}',
  'lone surrogates': '{"text":"\\ud800","k\\udc00":"\\udfff\\ud800"}',
  '1e308': '{"total":1e308,"small":5e-324,"minus":-1e308}',
  'more than a number can be': '{"total":1e999,"minus":-1e999}',
  'integers beyond 2^53': '{"total":9007199254740993,"id":123456789012345678901234567890}',
  'minus zero': '{"total":-0}',
  'as deep as is allowed': nested(17),
  'names of prototypes': '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}',
  'the same key twice': '{"total":1,"total":2}',
  'an empty key': '{"":1}',
  'a million digits': `{"total":1${'0'.repeat(20_000)}}`,
  'right-to-left and emoji': '{"text":"\\u202e\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"}',
  'SQL and shell': `{"text":"'; DROP TABLE ingest.events; --","sh":"$(reboot)","path":"../../etc/passwd"}`,
  'what JSON calls a date': '{"at":"2026-13-45T99:99:99Z"}',
}

type Running = { fleet: Fleet; gateway: Replica }

/** Tests of odd input on a running pipeline. It must not have dead letters yet. */
export const describeOddInput = (running: () => Running): void => {
  const post = async (path: string, body: string, method = 'POST') => {
    const begunAt = performance.now()
    // A busy machine may answer 503. A repeat changes nothing, because events have ids.
    const response = await untilAvailable(() =>
      running().gateway.request(path, {
        method,
        headers: { 'Content-Type': 'application/json' },
        body,
      }),
    )
    const text = await response.text()
    return { probe: path, status: response.status, error: text, tookMs: performance.now() - begunAt }
  }

  it('is stored once or refused with a reason on every path, without loss of later events', async () => {
    const load: Load = { name: 'odd', sent: [], acknowledged: new Set(), metering: new Set(), attempts: [] }
    const answers: Awaited<ReturnType<typeof post>>[] = []
    const track = async (path: string, id: string, eventName: string, odd: string) => {
      const event = `{"eventName":${JSON.stringify(eventName)},"visitorId":"odd","eventId":"${id}","properties":${odd}}`
      const answer = await post(path, `{"events":[${event}]}`)
      answers.push(answer)
      if (answer.status === 200 || answer.status === 202) {
        load.sent.push(id)
        load.acknowledged.add(id)
        if (/"queued":1/.test(answer.error) && eventName === 'ordered') load.metering.add(id)
      } else expect(answer).toMatchObject({ status: 400, error: expect.stringContaining('"error"') })
    }
    for (const [n, odd] of Object.values(properties).entries()) {
      await track('/api/v1/t', `odd-async-${n}`, 'page_view', odd)
      await track('/api/v1/t', `odd-metering-${n}`, 'ordered', odd)
      await track('/api/v1/t?sync=1', `odd-sync-${n}`, 'page_view', odd)
      await track('/internal/backfill/events', `odd-past-${n}`, 'page_view', odd)
    }
    expect(unexplained(answers)).toEqual([])
    await expectStoredOnce(
      running().fleet,
      load,
      `${Object.keys(properties).length} kinds of odd properties by four ways`,
    )
    const { rows } = await running().fleet.db.pool.query('SELECT 1 FROM ingest.dead_letters')
    expect(rows).toEqual([])
  })

  it('is accepted up to each limit and refused one byte beyond', async () => {
    const traitsOf = (bytes: number): string => `{"note":"${'x'.repeat(bytes - '{"note":""}'.length)}"}`
    const about = (traits: string) => `{"visitorId":"v","userId":"limits","traits":${traits}}`
    const deepEvent = (depth: number) => `{"eventName":"deep","properties":${nested(depth)}}`
    const event = (bytes: number) => {
      const rest = '{"eventName":"long","properties":{"x":""}}'.length
      return `{"eventName":"long","properties":{"x":"${'x'.repeat(bytes - rest)}"}}`
    }
    const cases: [string, () => ReturnType<typeof post>, number][] = [
      ['traits of 8 KiB', () => post('/api/v1/identify', about(traitsOf(8_192))), 202],
      ['one byte more', () => post('/api/v1/identify', about(traitsOf(8_193))), 400],
      [
        'a profile of 8 KiB',
        () => post('/api/v1/profile', `{"userId":"u","traits":${traitsOf(8_192)}}`, 'PUT'),
        200,
      ],
      [
        'one byte more',
        () => post('/api/v1/profile', `{"userId":"u","traits":${traitsOf(8_193)}}`, 'PUT'),
        400,
      ],
      ['traits of two levels', () => post('/api/v1/identify', about('{"a":{"b":1}}')), 202],
      ['three levels', () => post('/api/v1/identify', about('{"a":{"b":{"c":1}}}')), 400],
      ['an event of 32 KiB', () => post('/api/v1/t', event(32_768)), 202],
      ['one byte more', () => post('/api/v1/t', event(32_769)), 400],
      ['10,000 levels', () => post('/api/v1/t', deepEvent(10_000)), 400],
      ['100,000 levels, which are too many values', () => post('/api/v1/t', deepEvent(100_000)), 413],
      ['a body of 1 MiB and one byte', () => post('/api/v1/t', `"${'x'.repeat(1_048_575)}"`), 413],
    ]
    const found: [string, number, number][] = []
    for (const [what, ask, expected] of cases) found.push([what, (await ask()).status, expected])
    report('limits exactly and one past them', {
      asked: found.length,
      'answered otherwise': found.filter(([, status, expected]) => status !== expected).length,
    })
    expect(found.map(([what, status]) => [what, status])).toEqual(
      found.map(([what, , expected]) => [what, expected]),
    )
  })

  it('in traits neither fails a store nor changes a prototype', async () => {
    const answers = []
    for (const [n, odd] of Object.values(properties).entries())
      answers.push(
        await post('/api/v1/identify', `{"visitorId":"odd ${n}","userId":"odd ${n}","traits":${odd}}`),
      )
    expect(unexplained(answers)).toEqual([])
    expect(answers.filter(({ status }) => status !== 202 && status !== 400)).toEqual([])
    expect((await post('/api/v1/identify', '{"visitorId":"v","userId":"after"}')).status).toBe(202)
    report('odd traits', {
      sent: answers.length,
      taken: answers.filter(({ status }) => status === 202).length,
      refused: answers.filter(({ status }) => status === 400).length,
    })
  })
}
