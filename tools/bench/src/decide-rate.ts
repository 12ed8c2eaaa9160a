import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import type { Options } from './benchmark.ts'
import { startMeasured } from './measured-process.ts'

const SECONDS = { usual: 60, quick: 10 }
const WARM_UP_S = 3
const CONNECTIONS = 64
const EDIT_MS = 1_000
/** How long a process may answer by an older configuration, in ms. */
const PROMISED_MS = 5_000
const VISITORS = 2_000

const PATHS = [
  { name: 'bulk', path: '/ofrep/v1/evaluate/flags' },
  { name: 'single', path: '/ofrep/v1/evaluate/flags/edited' },
  { name: 'decide', path: '/api/v1/decide' },
] as const

type Flag = { variant?: string; value?: unknown }

/**
 * Sends `rate` requests a second from one address to a standalone process, with a key that has its own limit, while the
 * decision is edited once a second. Prints times, and what was wrong in the answers: each must be of one edit.
 */
export const measureDecideRate = async (
  options: Options,
  rate: number,
  print: (line: string) => void,
): Promise<void> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'waymark-'))
  // As root, the database runs as another user, who must be able to enter the directory.
  await chmod(dataDir, 0o755)
  // Without its own limit, the key would get no further than the default of 30 a minute.
  const env = { WAYMARK_DATA_DIR: dataDir, WAYMARK_DEMO_DATA: 'off' }
  const server = await startMeasured({ entry: 'apps/standalone/src/main.ts', env }, options)
  const url = `http://localhost:${server.port}`
  try {
    const demo = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo
    const write = async (method: string, place: string, body: object): Promise<unknown> => {
      const response = await fetch(`${url}/api/projects/${demo.projectId}${place}`, {
        method,
        headers: { 'X-API-Key': demo.apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (!response.ok) throw new Error(`${place} was not written: ${await response.text()}`)
      return response.json()
    }
    const requestsPerMinute = Math.ceil(rate * 60 * 1.5)
    const ownLimit = { name: 'Server', kind: 'sec', scopes: ['decide'], requestsPerMinute }
    const { key } = (await write('POST', '/api-keys', ownLimit)) as { key: string }
    await write('POST', '/decisions', { key: 'edited', status: 'active', ...numbered(0) })
    const edits = startEdits((n) => write('PATCH', '/decisions/edited', numbered(n)))
    await edits.first
    for (const { name, path: place } of PATHS) {
      let wrong = 0
      const send = (seconds: number) =>
        autocannon({
          url: `${url}${place}`,
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
          connections: CONNECTIONS,
          overallRate: rate,
          duration: seconds,
          requests: [
            {
              setupRequest: (request) => ({ ...request, body: bodyFor(name) }),
              onResponse: (status, body) => {
                if (status !== 200 || !edits.isRight(flagIn(body))) wrong++
              },
            },
          ],
        })
      // Until the process has compiled its code.
      await send(WARM_UP_S)
      wrong = 0
      const before = edits.count()
      const { latency, requests, errors, non2xx } = await send(options.quick ? SECONDS.quick : SECONDS.usual)
      print(
        `${name}: ${Math.round(requests.average)} requests/s, p50 ${latency.p50} ms, p99 ${latency.p99} ms, ` +
          `at most ${latency.max} ms; ${edits.count() - before} edits, ${errors + non2xx} failed, ${wrong} wrong answers`,
      )
    }
    await edits.stop()
  } finally {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

type Demo = { apiKey: string; projectId: string }

/** Edits once a second. An answer is right if it is of one edit, not older than allowed and not older than one before. */
const startEdits = (edit: (n: number) => Promise<unknown>) => {
  const editedAt: number[] = []
  let newest = 0
  let running = true
  const first = Promise.withResolvers<void>()
  const repeat = async (): Promise<void> => {
    while (running) {
      await edit(editedAt.length)
      editedAt.push(performance.now())
      first.resolve()
      await sleep(EDIT_MS)
    }
  }
  const done = repeat().catch(first.reject)
  return {
    first: first.promise,
    count: () => editedAt.length,
    isRight: ({ variant, value }: Flag): boolean => {
      const n = Number(value)
      if (variant !== `on-${n}`) return false
      const replacedAt = editedAt[n + 1] ?? Number.POSITIVE_INFINITY
      // Answers of one turn of the event loop may arrive in another order on their connections.
      const isOrdered = n >= newest - 1
      newest = Math.max(newest, n)
      return isOrdered && performance.now() - replacedAt < PROMISED_MS
    },
    stop: async () => {
      running = false
      await done
    },
  }
}

const bodyFor = (name: string): string => {
  const visitorId = `visitor-${Math.floor(Math.random() * VISITORS)}`
  return JSON.stringify(
    name === 'decide' ? { visitorId, keys: ['edited'] } : { context: { targetingKey: visitorId } },
  )
}

const flagIn = (body: string): Flag => {
  const answer = JSON.parse(body) as Flag & { flags?: Flag[]; decisions?: Flag[] }
  return (answer.flags ?? answer.decisions)?.[0] ?? answer
}

/** A decision that gives everyone the variant `on-<n>` with the value `n`. */
const numbered = (n: number) => ({
  variants: [
    { key: `off-${n}`, value: -1 - n },
    { key: `on-${n}`, value: n },
  ],
  fallbackVariant: `off-${n}`,
  rules: [{ id: `rule-${n}`, variant: `on-${n}` }],
})
