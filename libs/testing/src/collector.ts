import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

type Attribute = { key: string; value: { stringValue?: string; intValue?: number } }
type OtlpSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes?: Attribute[]
  links?: { traceId: string; spanId: string }[]
  status?: { code?: number }
}
type OtlpExport = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[]
}

/** A span that the collector received. */
export type CollectedSpan = Omit<OtlpSpan, 'attributes'> & {
  service: string
  attributes: Record<string, string | number | undefined>
}

/** A collector of traces by OTLP over HTTP in JSON. */
export type Collector = {
  url: string
  spans: CollectedSpan[]
  /** The headers of the last request. */
  headers: () => Record<string, unknown>
  stop(): Promise<void>
}

const valuesOf = (attributes: readonly Attribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

/** Starts a collector. With `hangs` it never answers. */
export const startCollector = async ({ hangs = false } = {}): Promise<Collector> => {
  const spans: CollectedSpan[] = []
  let headers: Record<string, unknown> = {}
  const server = createServer(async (req, res) => {
    headers = req.headers
    if (hangs) return
    if (req.url !== '/v1/traces' || req.headers['content-type'] !== 'application/json')
      return void res.writeHead(404).end()
    const { resourceSpans } = (await json(req)) as OtlpExport
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = `${valuesOf(resource.attributes)['service.name']}`
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, service, attributes: valuesOf(span.attributes) })
    }
    res.setHeader('Content-Type', 'application/json').end('{}')
  }).listen(0)
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers: () => headers,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
