import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { anEnrichedEvent } from '@waymark/testing/unit'
import { expect, it, onTestFinished } from 'vitest'
import { openClickHouseStore } from './index.ts'

/** A store on a server that has this many active replicas of the table, and the quorum of each insert. */
const openWithReplicas = async (replicas: number | undefined) => {
  const quorums: (string | null)[] = []
  const asynchronous: (string | null)[] = []
  const server = createServer(async (request, response) => {
    const parameters = new URL(request.url ?? '', 'http://server').searchParams
    const statement = (parameters.get('query') ?? '') + (await text(request))
    if (statement.includes('system.replicas'))
      return response.end(replicas === undefined ? '' : `${JSON.stringify({ replicas })}\n`)
    // Visitors of ended days are marked by inserts of their own.
    if (!statement.startsWith('INSERT INTO events')) return response.end()
    quorums.push(parameters.get('insert_quorum'))
    asynchronous.push(parameters.get('async_insert'))
    response.end()
  })
  server.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const store = openClickHouseStore({
    url: `http://localhost:${port}`,
    database: 'waymark',
    queryTimeoutMs: 5_000,
    queryMemoryBytes: 512 * 1024 * 1024,
  })
  onTestFinished(async () => {
    await store.close()
    server.close()
  })
  return { store, quorums, asynchronous }
}

it('waits for all active replicas only when the caller needs it', async () => {
  const { store, quorums } = await openWithReplicas(3)
  await store.storeEvents([anEnrichedEvent()])
  await store.storeEvents([anEnrichedEvent()], { onAllReplicas: true })
  expect(quorums).toEqual([null, '3'])
})

it('lets the server collect small inserts, and not those of 1,000 rows', async () => {
  const { store, asynchronous } = await openWithReplicas(undefined)
  const eventsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => anEnrichedEvent({ event: { eventId: `event-${index}` } }))
  await store.storeEvents(eventsOf(999))
  await store.storeEvents(eventsOf(1_000))
  expect(asynchronous).toEqual(['1', '0'])
})

it.each([undefined, 0, 1])('asks for no quorum with %s active replicas', async (replicas) => {
  const { store, quorums } = await openWithReplicas(replicas)
  await store.storeEvents([anEnrichedEvent()], { onAllReplicas: true })
  expect(quorums).toEqual([null])
})
