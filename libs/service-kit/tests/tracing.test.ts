import path from 'node:path'
import { createInterface } from 'node:readline'
import { CLOSED_PORT, type CollectedSpan, eventually, startCollector, startProcess } from '@waymark/testing'
import { describe, expect, it, onTestFinished } from 'vitest'

type Line = { msg: string; port?: number; traceId?: string; spanId?: string; requestId?: string }

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const traceparent = (flags = '01') => `00-${TRACE_ID}-${CALLER}-${flags}`

const run = (env: Record<string, string>) =>
  startProcess(process.execPath, [path.join(import.meta.dirname, 'traced-process.ts')], { env })

/** A process of `traced-process.ts`, with the lines that it logs. */
const startTracedProcess = async (env: Record<string, string>) => {
  const { child, ended, kill } = run({ LOG_LEVEL: 'info', NODE_NO_WARNINGS: '1', ...env })
  onTestFinished(kill)
  const lines: Line[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line)))
  const said = (msg: string) => eventually(`"${msg}" is said`, () => lines.find((line) => line.msg === msg))
  const { port } = await said('listening')
  return {
    lines,
    said,
    post: (id: string, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${port}/things/${id}?token=hunter2`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ secret: 'hunter2' }),
      }),
    stop: async () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}

const startTraced = async (env: Record<string, string> = {}) => {
  const collector = await startCollector()
  onTestFinished(() => collector.stop())
  const started = await startTracedProcess({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env })
  return { ...started, collector }
}

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const [found, another] = spans.filter((span) => span.name === name)
  if (!found || another) throw new Error(`${another ? 'several spans are' : 'no span is'} called ${name}`)
  return found
}

describe('a traced process', () => {
  it('continues the trace of a request through the queue, and sends all spans before it exits', async () => {
    const { collector, post, said, stop } = await startTraced({
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20secret',
    })
    await post('hunter2', { traceparent: traceparent(), 'X-Request-Id': 'request-1' })
    const inRequest = await said('in the request')
    const inBatch = await said('in the batch')
    expect(await stop()).toBe(0)

    const request = named(collector.spans, 'POST /things/{id}')
    const send = named(collector.spans, 'send things.v1')
    const handle = named(collector.spans, 'process things.v1')
    expect(request).toMatchObject({ service: 'shop', traceId: TRACE_ID, parentSpanId: CALLER })
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/things/{id}',
      'http.response.status_code': 200,
    })
    expect(send).toMatchObject({ traceId: TRACE_ID, parentSpanId: request.spanId })
    expect(handle).toMatchObject({ traceId: TRACE_ID, parentSpanId: send.spanId })
    expect(handle.attributes).toMatchObject({
      'messaging.destination.name': 'things.v1',
      'messaging.consumer.group.name': 'readers',
    })
    expect(inRequest).toMatchObject({ requestId: 'request-1', traceId: TRACE_ID, spanId: request.spanId })
    expect(inBatch).toMatchObject({ traceId: TRACE_ID, spanId: handle.spanId })
    expect(inBatch.requestId).toBeUndefined()
    expect(collector.headers()).toMatchObject({ authorization: 'Bearer secret' })
    expect(JSON.stringify(collector.spans)).not.toContain('hunter2')
  })

  it('marks failed spans, without the message', async () => {
    const { collector, post, said, stop } = await startTraced()
    expect((await post('fail')).status).toBe(500)
    const failed = await said('Request failed')
    await said('in the batch')
    await stop()
    const request = named(collector.spans, 'POST /things/{id}')
    const handle = named(collector.spans, 'process things.v1')
    expect(request).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': '500' } })
    expect(handle).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': '22001' } })
    expect(failed).toMatchObject({ traceId: request.traceId, spanId: request.spanId })
    expect(failed.requestId).toBeDefined()
    expect(JSON.stringify(collector.spans)).not.toContain('hunter2')
  })

  it('sends no span of an unsampled trace, and logs its id', async () => {
    const { collector, post, said, stop } = await startTraced()
    await post('thing', { traceparent: traceparent('00') })
    expect(await said('in the request')).toMatchObject({ traceId: TRACE_ID })
    expect(await said('in the batch')).toMatchObject({ traceId: TRACE_ID })
    await stop()
    expect(collector.spans).toEqual([])
  })

  it('lets the sampler ignore the decision of callers', async () => {
    const { collector, post, said, stop } = await startTraced({
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    })
    await post('thing', { traceparent: traceparent() })
    await said('in the batch')
    await stop()
    expect(collector.spans).toEqual([])
  })

  it.each([
    ['refuses', async () => `http://127.0.0.1:${CLOSED_PORT}`],
    [
      'hangs',
      async () => {
        const collector = await startCollector({ hangs: true })
        onTestFinished(() => collector.stop())
        return collector.url
      },
    ],
  ])('answers normally and exits while the collector %s', async (_, urlOf) => {
    const { post, said, stop } = await startTracedProcess({
      OTEL_EXPORTER_OTLP_ENDPOINT: await urlOf(),
    })
    // More than may wait for the collector.
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: 100 }, async () => (await post('thing')).arrayBuffer()))
    await said('Traces could not be exported to the collector')
    expect((await post('thing')).status).toBe(200)
    expect(await stop()).toBe(0)
  })
})

describe('a process without a collector', () => {
  it('logs the trace id that the client of a failed request sent', async () => {
    const { post, lines, said, stop } = await startTracedProcess({})
    await post('fail')
    await post('fail', { traceparent: traceparent() })
    await eventually(
      'both are logged',
      () => lines.filter(({ msg }) => msg === 'Request failed').length === 2,
    )
    const [without, withOne] = lines.filter(({ msg }) => msg === 'Request failed')
    expect(without?.traceId).toBeUndefined()
    expect(withOne?.traceId).toBe(TRACE_ID)
    expect((await said('in the request')).traceId).toBeUndefined()
    expect(await stop()).toBe(0)
  })
})

it('an invalid endpoint is a configuration error', async () => {
  const { ended, stderr } = run({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_TRACES_SAMPLER_ARG: '2',
  })
  expect(await ended).toBe(1)
  expect(stderr()).toContain('OTEL_EXPORTER_OTLP_ENDPOINT')
  expect(stderr()).toContain('OTEL_TRACES_SAMPLER_ARG')
})
