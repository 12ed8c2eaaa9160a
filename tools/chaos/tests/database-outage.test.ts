import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'

let waymark: Awaited<ReturnType<typeof startStandalone>>
beforeAll(async () => {
  waymark = await startStandalone()
})
afterAll(() => waymark?.stop())

const postmasterPid = async (): Promise<number> => {
  const pidFile = path.join(path.dirname(waymark.mailDir), 'postgres/data/postmaster.pid')
  return Number.parseInt(await readFile(pidFile, 'utf8'), 10)
}
/** Freezes the server, which then starts no other connection, and each of its connections. Returns what undoes it. */
const freezePostgres = async (): Promise<() => void> => {
  const frozen: number[] = []
  const freeze = (pid: number): void => {
    process.kill(pid, 'SIGSTOP')
    frozen.push(pid)
  }
  const postmaster = await postmasterPid()
  freeze(postmaster)
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
  for (const pid of children.trim().split(' ').map(Number)) freeze(pid)
  return () => {
    for (const pid of frozen.splice(0)) process.kill(pid, 'SIGCONT')
  }
}

/** Sends a body once, because a 503 is what these tests are about. */
const send = (body: object, resource: string): Promise<Response> =>
  fetch(`http://localhost:${waymark.port}${resource}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': waymark.apiKey },
    body: JSON.stringify(body),
  })
const sendOrder = (n: number, query = ''): Promise<Response> =>
  send({ eventName: 'ordered', visitorId: `v${n}`, properties: { amount: 1 } }, `/api/v1/t${query}`)

it('answers 503 QUEUE_UNAVAILABLE to conversions while PostgreSQL is frozen, and recovers', async () => {
  const created = await send(
    { eventName: 'ordered' },
    `/api/projects/${waymark.projectId}/metering-selectors`,
  )
  expect(created.status).toBe(201)
  await eventually('an order is stored', async () => (await sendOrder(0, '?sync=1')).status === 200)

  const thaw = await freezePostgres()
  onTestFinished(thaw)
  const answers: { status: number; body: unknown }[] = []
  // Long enough for several retries of the queue, and for requests at any moment of a retry.
  const until = performance.now() + 12_000
  await Promise.all(
    Array.from({ length: 5 }, async (_, client) => {
      while (performance.now() < until) {
        const response = await sendOrder(client)
        answers.push({ status: response.status, body: await response.json() })
        await sleep(100)
      }
    }),
  )
  thaw()
  const body = { error: 'QUEUE_UNAVAILABLE', retryAfter: 60 }
  for (const answer of answers) expect(answer).toEqual({ status: 503, body })
  await eventually('orders are taken again', async () => (await sendOrder(1)).status === 202)
})

it('restarts a killed PostgreSQL, and answers 503 until then', async () => {
  const postmaster = await postmasterPid()
  process.kill(postmaster, 'SIGKILL')
  const answers: number[] = []
  await eventually('an order is stored again', async () => {
    const { status } = await sendOrder(2, '?sync=1')
    answers.push(status)
    return status === 200
  })
  for (const status of answers.slice(0, -1)) expect(status).toBe(503)
  expect(await postmasterPid()).not.toBe(postmaster)
})
