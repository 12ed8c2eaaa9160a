import { freePort } from '@waymark/testing/unit'
import { afterEach, describe, expect, test } from 'vitest'
import { accepted, type FakeWaymark, startFakeWaymark } from './fake-waymark.ts'
import {
  type Batch,
  type Failure,
  inBatches,
  isRefusal,
  type Outgoing,
  type SenderOptions,
  sendBatches,
} from './sender.ts'

const open: FakeWaymark[] = []
const start = async (...args: Parameters<typeof startFakeWaymark>) => {
  const server = await startFakeWaymark(...args)
  open.push(server)
  return server
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function* outgoing(count: number, padding = ''): AsyncGenerator<Outgoing> {
  for (let line = 1; line <= count; line += 1) {
    yield { line, json: JSON.stringify({ eventName: 'page_view', eventId: `e${line}`, padding }) }
  }
}
const noWait = async () => {}
const send = (server: { url: string }, count: number, options: Partial<SenderOptions> = {}) =>
  sendBatches(inBatches(outgoing(count)), {
    target: async () => ({ url: server.url, key: 'wm_sec_test' }),
    sleep: noWait,
    ...options,
  })
const status = (code: number, body: unknown = { error: 'X' }, headers: Record<string, string> = {}) => ({
  status: code,
  body,
  headers,
})
const failureOf = async (sending: Promise<unknown>): Promise<Error> => {
  const error: unknown = await sending.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('did not fail')
  return error
}

describe('batches', () => {
  const collect = async (events: AsyncIterable<Outgoing>) => {
    const batches: Batch[] = []
    for await (const batch of inBatches(events)) batches.push(batch)
    return batches
  }

  test('have 100 events each, in order, and the last one the rest', async () => {
    const batches = await collect(outgoing(250))
    expect(batches.map(({ lines }) => lines.length)).toEqual([100, 100, 50])
    expect(batches.flatMap(({ lines }) => lines)).toEqual(
      Array.from({ length: 250 }, (_, index) => index + 1),
    )
    expect(JSON.parse(batches[2]?.body ?? '').events[49].eventId).toBe('e250')
  })

  test('are smaller for long events, because a body may have 1 MiB', async () => {
    const batches = await collect(outgoing(100, 'é'.repeat(15_000)))
    expect(batches.flatMap(({ lines }) => lines)).toHaveLength(100)
    for (const { body } of batches) expect(Buffer.byteLength(body)).toBeLessThan(1024 * 1024)
    expect(batches.length).toBeLessThan(6)
  })

  test('yield the events before an error, then the error', async () => {
    async function* broken() {
      yield* outgoing(130)
      throw new Error('unexpected end of file')
    }
    const server = await start()
    const totals: number[] = []
    const error = await failureOf(
      sendBatches(inBatches(broken()), {
        target: async () => ({ url: server.url, key: 'k' }),
        onProgress: ({ accepted: count }) => totals.push(count),
      }),
    )
    expect(error.message).toBe('unexpected end of file')
    expect(totals.at(-1)).toBe(130)
    expect(server.stored.size).toBe(130)
  })
})

test('sends every event once, with the key, and counts from the body', async () => {
  const server = await start()
  expect(await send(server, 1_234, { concurrency: 4 })).toEqual({ sent: 1_234, accepted: 1_234, failed: 0 })
  expect(server.stored.size).toBe(1_234)
  expect(server.seen).toHaveLength(13)
  expect(new Set(server.seen.map(({ url }) => url))).toEqual(new Set(['/api/v1/t']))
  expect(new Set(server.seen.map(({ key }) => key))).toEqual(new Set(['wm_sec_test']))
})

test('sends nothing for nothing', async () => {
  const server = await start()
  expect(await send(server, 0)).toEqual({ sent: 0, accepted: 0, failed: 0 })
  expect(server.seen).toEqual([])
})

test('requests the synchronous path, below the path of the address', async () => {
  const server = await start(({ events }) => status(200, { accepted: events.length, failed: 0, queued: 0 }))
  await send({ url: `${server.url}/behind/a/proxy/` }, 1, { sync: true })
  expect(server.seen[0]?.url).toBe('/behind/a/proxy/api/v1/t?sync=1')
})

test('has at most the requested number of requests in flight', async () => {
  let inFlight = 0
  let most = 0
  const four = Promise.withResolvers<void>()
  const server = await start(() => {
    inFlight += 1
    most = Math.max(most, inFlight)
    if (inFlight === 4) four.resolve()
    return undefined
  })
  const interrupt = new AbortController()
  const sending = failureOf(send(server, 1_000, { concurrency: 4, signal: interrupt.signal }))
  await four.promise
  interrupt.abort(new Error('enough'))
  expect((await sending).message).toBe('enough')
  expect(most).toBe(4)
})

describe('an answer that counts', () => {
  const failures: Failure[] = []
  const onFailure = (failure: Failure) => failures.push(failure)
  afterEach(() => {
    failures.length = 0
  })

  test('202 with some invalid: the others are accepted, and the line is reported', async () => {
    const server = await start(({ events }, turn) =>
      turn === 2
        ? status(202, {
            accepted: events.length - 1,
            failed: 1,
            queued: events.length - 1,
            processed: false,
            invalid: [{ index: 6, rawSample: '{}', reason: 'too long' }],
          })
        : accepted(events.length),
    )
    const totals = await send(server, 300, { concurrency: 1, onFailure })
    expect(totals).toEqual({ sent: 300, accepted: 299, failed: 1 })
    expect(failures).toEqual([{ line: 107, reason: 'too long' }])
  })

  test('400 with a list: the whole batch failed, and the next one continues', async () => {
    const server = await start(({ events }, turn) =>
      turn === 1
        ? status(400, {
            error: 'no valid event',
            invalid: events.map((_, index) => ({ index, rawSample: '', reason: 'wrong type' })),
          })
        : accepted(events.length),
    )
    const totals = await send(server, 150, { concurrency: 1, onFailure })
    expect(totals).toEqual({ sent: 150, accepted: 50, failed: 100 })
    expect(failures).toHaveLength(100)
  })

  test('422 of the synchronous path: as rejected', async () => {
    const server = await start(() =>
      status(422, {
        accepted: 0,
        failed: 2,
        queued: 0,
        processed: true,
        enforceRejected: 2,
        errors: [0, 1].map((index) => ({
          index,
          eventName: 'page_view',
          errors: [{ message: 'must be a number' }],
        })),
      }),
    )
    expect(await send(server, 2, { sync: true, onFailure })).toEqual({ sent: 2, accepted: 0, failed: 2 })
    expect(failures).toContainEqual({ line: 2, reason: 'must be a number' })
  })

  test('200 with warnings: nothing failed', async () => {
    const server = await start(() =>
      status(200, {
        accepted: 2,
        failed: 0,
        queued: 0,
        processed: true,
        errors: [{ index: 0, eventName: 'page_view', errors: [{ message: 'unknown_event' }] }],
      }),
    )
    expect(await send(server, 2, { sync: true, onFailure })).toEqual({ sent: 2, accepted: 2, failed: 0 })
    expect(failures).toEqual([])
  })

  test('a status of success with a body of failure: the body counts', async () => {
    const server = await start(({ events }) =>
      status(202, { accepted: 0, failed: events.length, queued: 0, processed: false }),
    )
    expect(await send(server, 10)).toEqual({ sent: 10, accepted: 0, failed: 10 })
  })
})

describe('retries', () => {
  test('429 after the time in the body or header', async () => {
    const server = await start(({ events }, turn) => {
      if (turn === 1) return status(429, { error: 'rate limited', retryAfter: 17 })
      if (turn === 2) return status(429, 'slow down', { 'Retry-After': '23' })
      return accepted(events.length)
    })
    const waits: number[] = []
    const reasons: (string | undefined)[] = []
    const totals = await send(server, 5, {
      sleep: async (ms) => void waits.push(ms),
      onWaiting: (reason) => reasons.push(reason),
    })
    expect(totals).toEqual({ sent: 5, accepted: 5, failed: 0 })
    expect(waits).toEqual([17_000, 23_000])
    expect(reasons).toEqual([
      'the server answered 429 rate limited',
      'the server answered status 429',
      undefined,
    ])
  })

  test('503 and other server errors, with growing pauses up to 5 s', async () => {
    const server = await start(({ events }, turn) => {
      if (turn <= 8) return status(turn % 2 ? 503 : 500, '<html>')
      return accepted(events.length)
    })
    const waits: number[] = []
    await send(server, 5, { sleep: async (ms) => void waits.push(ms) })
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000])
  })

  test('503 before the requested time, because a dependency may recover earlier', async () => {
    const server = await start(({ events }, turn) =>
      turn === 1
        ? status(503, { error: 'QUEUE_UNAVAILABLE', retryAfter: 60 })
        : turn === 2
          ? status(503, { error: 'STORE_UNAVAILABLE', retryAfter: 0 })
          : accepted(events.length),
    )
    const waits: number[] = []
    await send(server, 5, { sleep: async (ms) => void waits.push(ms) })
    expect(waits).toEqual([5_000, 200])
  })

  test('a request without an answer in time', async () => {
    const server = await start(({ events }, turn) => (turn === 1 ? undefined : accepted(events.length)))
    const reasons: (string | undefined)[] = []
    const totals = await send(server, 5, { timeoutMs: 50, onWaiting: (reason) => reasons.push(reason) })
    expect(totals.accepted).toBe(5)
    expect(reasons[0]).toContain('no answer within 0.05 s')
  })

  test('a lost answer, without counting its events twice', async () => {
    const server = await start((_, turn) => (turn % 3 === 1 ? 'cut' : 'accept'))
    expect(await send(server, 1_000)).toEqual({ sent: 1_000, accepted: 1_000, failed: 0 })
    expect(server.seen.length).toBeGreaterThan(10)
    expect(server.stored.size).toBe(1_000)
  })

  test('until the server is available again on the same port', async () => {
    const half = Promise.withResolvers<void>()
    // A port that nothing else takes while the server is away.
    const port = await freePort()
    const first = await start(
      (_, turn) => {
        if (turn <= 5) return 'accept'
        half.resolve()
        return undefined
      },
      { port },
    )
    const back = Promise.withResolvers<void>()
    const sending = send(first, 1_000, { sleep: () => back.promise })
    await half.promise
    await first.close()
    const second = await start(undefined, { port, stored: first.stored })
    back.resolve()
    expect(await sending).toEqual({ sent: 1_000, accepted: 1_000, failed: 0 })
    expect(second.stored.size).toBe(1_000)
  })

  test('with another address and key, when the server is available there', async () => {
    const first = await start((_, turn) => (turn <= 3 ? 'accept' : 'cut'))
    let target = { url: first.url, key: 'old' }
    const second = await start(
      ({ key }) => (key === 'new' ? 'accept' : status(401, { error: 'unauthorized' })),
      {
        stored: first.stored,
      },
    )
    let waits = 0
    const sending = send(first, 1_000, {
      target: async () => target,
      sleep: async () => {
        waits += 1
        await first.close()
        target = { url: second.url, key: 'new' }
      },
    })
    expect(await sending).toEqual({ sent: 1_000, accepted: 1_000, failed: 0 })
    expect(second.stored.size).toBe(1_000)
    expect(waits).toBeGreaterThan(0)
  })

  test('a server that has not started yet, without a limit', async () => {
    const port = await freePort()
    let attempts = 0
    let server: FakeWaymark | undefined
    const totals = await send({ url: `http://127.0.0.1:${port}` }, 100, {
      sleep: async () => {
        attempts += 1
        if (attempts === 20) server = await start(undefined, { port })
      },
    })
    expect(totals.accepted).toBe(100)
    expect(server?.stored.size).toBe(100)
  })

  test('with a new key of the server', async () => {
    const server = await start(({ key }) =>
      key === 'new' ? 'accept' : status(401, { error: 'unauthorized' }),
    )
    let asked = 0
    const totals = await send(server, 10, {
      target: async () => ({ url: server.url, key: asked++ === 0 ? 'old' : 'new' }),
    })
    expect(totals.accepted).toBe(10)
  })
})

describe('stops', () => {
  test.each([
    [401, { error: 'unauthorized' }, 'the API key is refused (401 unauthorized)'],
    [403, { error: 'forbidden', requiredScope: 'events:write' }, 'the API key is refused (403 forbidden)'],
    [400, { error: 'bad request' }, 'answered 400 bad request'],
    [404, '<html>', 'answered status 404'],
    [413, { error: 'too large' }, 'answered 413 too large'],
    [302, '', 'answered status 302'],
    [200, '<html>', 'answered status 200 without counts; is this a Waymark?'],
  ])('at %i', async (code, body, message) => {
    const server = await start(() => status(code, body))
    const error = await failureOf(send(server, 10_000))
    expect(isRefusal(error)).toBe(true)
    expect(error.message).toContain(message)
    expect(server.seen.length).toBeLessThanOrEqual(2)
  })

  test('while it waits', async () => {
    const server = await start(() => status(503))
    const interrupt = new AbortController()
    const error = await failureOf(
      sendBatches(inBatches(outgoing(500)), {
        target: async () => ({ url: server.url, key: 'k' }),
        signal: interrupt.signal,
        onWaiting: () => interrupt.abort(new Error('interrupted')),
      }),
    )
    expect(error.message).toBe('interrupted')
  })

  test('at a refusal, also while the source is silent', async () => {
    const server = await start(() => status(401))
    async function* quiet() {
      yield* outgoing(100)
      await new Promise(() => {})
    }
    const sending = sendBatches(inBatches(quiet()), { target: async () => ({ url: server.url, key: 'k' }) })
    expect(isRefusal(await failureOf(sending))).toBe(true)
  })

  test('at an invalid address, without retries', async () => {
    const error = await failureOf(send({ url: 'nonsense' }, 1))
    expect(error.message).toBe('Invalid URL')
  })
})
