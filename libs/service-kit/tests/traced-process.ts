import { EventEmitter } from 'node:events'
import type { Topic } from '@waymark/contracts/topics'
import { compileValidator } from '@waymark/contracts/validator'
import { type Delivery, type EventBus, publishing } from '@waymark/event-bus'
import { Registry } from 'prom-client'
import { Type } from 'typebox'
import { readJsonBody } from '../src/http/json-body.ts'
import { route } from '../src/http/router.ts'
import { runService } from '../src/run-service.ts'
import { startService } from '../src/start-service.ts'
import { traceBus } from '../src/tracing/trace-bus.ts'

const things: Topic<string> = {
  name: 'things.v1',
  validator: compileValidator(Type.String()),
  retentionMs: 1,
  maxMessageBytes: 1,
}

const sent = new EventEmitter()

/** Delivers each published record at once and stores none. */
const passingBus: EventBus = {
  ...publishing(async ({ name: topic }, records) => {
    for (const { key, value: text, headers = {} } of records) {
      const value: unknown = JSON.parse(text)
      setImmediate(() => sent.emit('record', { topic, partition: 0, offset: 0n, key, value, headers }))
    }
  }),
  subscribe: ({ handle }) => ({
    start: async () =>
      void sent.on('record', (delivery: Delivery<never>) =>
        handle([delivery], new AbortController().signal).catch(() => {}),
      ),
    stop: async () => {},
  }),
  readLag: async () => [],
  close: async () => {},
}

// A service that publishes a record for each request, consumes it itself, and logs both.
await runService('traced', process.env, async ({ log, scope, tracer }) => {
  const bus = tracer ? traceBus(passingBus, tracer) : passingBus
  const consumer = bus.subscribe({
    group: 'readers',
    topic: things,
    handle: async ([delivery]) => {
      log.info({}, 'in the batch')
      if (delivery?.key === 'fail') throw Object.assign(new Error('quotes hunter2'), { code: '22001' })
      return undefined
    },
  })
  const answer = route({ method: 'post', path: '/things/{id}' }, async (request) => {
    const { id = '' } = request.params
    await readJsonBody(request, 1_000)
    await bus.publish(things, [{ key: id, value: 'thing' }])
    log.info({}, 'in the request')
    if (id === 'fail') throw new Error('quotes hunter2')
    return { body: {} }
  })
  const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
  const service = { routes: [answer], consumers: [consumer] }
  const { port } = await startService(service, http, { log, metrics: new Registry(), tracer }, scope)
  log.info({ port }, 'listening')
})
