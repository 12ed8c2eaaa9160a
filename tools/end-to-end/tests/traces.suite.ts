import { randomBytes, randomUUID } from 'node:crypto'
import { type CollectedSpan, type Constellation, eventually } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

/** Traces as an operator sees them. `collected` are the spans that the deployment has sent. */
export const describeTraces = (
  start: () => Promise<Constellation>,
  collected: () => readonly CollectedSpan[],
): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const track = async (traceId: string, query = ''): Promise<number> => {
    const response = await waymark.request(`/api/v1/t${query}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01`,
      },
      body: JSON.stringify({
        eventName: 'page_view',
        visitorId: `visitor-${traceId}`,
        eventId: randomUUID(),
      }),
    })
    return response.status
  }

  /** The spans of a trace by name and group, once the named ones exist. */
  const spansOf = (traceId: string, names: readonly string[]) =>
    eventually(`the trace has ${names.join(', ')}`, () => {
      const spans = new Map<string, CollectedSpan>()
      for (const span of collected().filter((one) => one.traceId === traceId))
        spans.set([span.name, span.attributes['messaging.consumer.group.name']].join(' ').trim(), span)
      return names.every((name) => spans.has(name)) && spans
    })

  it('cover an event from the request to the stores', async () => {
    const traceId = randomBytes(16).toString('hex')
    expect(await track(traceId)).toBe(202)
    const request = 'POST /api/v1/t'
    const send = 'send ingest.records.v1'
    const consumers = [
      'process ingest.records.v1 enrichment',
      'process events.enriched.v1 persistence',
      'process events.enriched.v1 email',
    ]
    const spans = await spansOf(traceId, [request, send, ...consumers])
    expect(spans.get(send)?.parentSpanId).toBe(spans.get(request)?.spanId)
    // All of them belong to the request's trace.
    for (const consumer of consumers) expect(spans.get(consumer)?.parentSpanId).toBe(spans.get(send)?.spanId)
    expect(JSON.stringify([...spans.values()])).not.toContain('visitor-')
  })

  it('cover a synchronous event and its way through the outbox', async () => {
    const traceId = randomBytes(16).toString('hex')
    expect(await track(traceId, '?sync=1')).toBe(200)
    const spans = await spansOf(traceId, ['POST /api/v1/t', 'process events.enriched.v1 email'])
    expect(spans.get('process events.enriched.v1 email')?.parentSpanId).toBe(
      spans.get('POST /api/v1/t')?.spanId,
    )
  })

  it('cover each of many events in one request', async () => {
    const traceIds = Array.from({ length: 50 }, () => randomBytes(16).toString('hex'))
    await Promise.all(traceIds.map((traceId) => track(traceId)))
    for (const traceId of traceIds) await spansOf(traceId, ['process events.enriched.v1 persistence'])
  })
}
