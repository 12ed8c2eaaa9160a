import { randomUUID } from 'node:crypto'
import path from 'node:path'
import type { Note } from './api-checks.ts'
import type { Cluster } from './kubectl.ts'
import { request, type Seen, startLoad, summaryOf, type Target } from './load.ts'
import { run, until } from './run.ts'

const ROOT = path.resolve(import.meta.dirname, '../../../..')
/** The namespace of `overlays/local`. */
export const NAMESPACE = 'waymark'
const JOBS = ['job/migrate', 'job/topics', 'job/demo']
const ROLLOUT = '--timeout=300s'
const STORED_MS = 120_000

/** Tests that cannot pass behind the Ingress. */
const LEFT_OUT = [
  // They call `/internal`, which is on no Ingress.
  'backfills up to 1,000 events',
  'accepts only 1 and true as the selector',
  'warns of unknown fields, and refuses them outside of events',
  "attributes a visitor's events to the user after the identify call",
  // The address of this machine has no city.
  'stores an enriched event from the gateway',
]

/** An installation, with the key of its demo project. */
type Installation = { url: string; apiKey: string; projectId: string }
type Workload = { metadata: { name: string }; spec: { replicas?: number } }
type Pod = { metadata: { name: string; deletionTimestamp?: string; ownerReferences?: { kind: string }[] } }
type Page = { data: { eventId: string }[]; nextCursor: string | null }

/** Waits until the Jobs are done and every pod is ready. @throws after ten minutes, with what is not */
export const waitUntilReady = async (cluster: Cluster, note: Note): Promise<void> => {
  const begunAt = performance.now()
  const wait = (condition: string, ...what: string[]) =>
    cluster.kubectl(['wait', '--namespace', NAMESPACE, `--for=${condition}`, '--timeout=600s', ...what])
  try {
    await wait('condition=Complete', ...JOBS)
    await wait('condition=Available', 'deployment', '--all')
  } catch (error) {
    const pods = await cluster.kubectl(['get', 'pods', '--namespace', NAMESPACE])
    throw new Error(`${(error as Error).message}\n${pods}`)
  }
  note('Jobs done and all services ready', `after ${Math.round((performance.now() - begunAt) / 1000)} s`)
}

/** The installation that the Job `demo` has described in a Secret. */
export const readInstallation = async (cluster: Cluster, url: string): Promise<Installation> => {
  const encoded = await cluster.kubectl([
    'get',
    'secret',
    'waymark-demo',
    '--namespace',
    NAMESPACE,
    '--output',
    'jsonpath={.data.demo\\.json}',
  ])
  const { apiKey, projectId } = JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'))
  return { url, apiKey, projectId }
}

/** Runs the end-to-end suites against an installation. @throws with their output when a test fails */
export const runSuites = async (installation: Installation, note: Note): Promise<void> => {
  const env = { WAYMARK_DEPLOYED: JSON.stringify(installation) }
  const others = `^(?!.*(?:${LEFT_OUT.join('|')}))`
  const args = ['vitest', 'run', '--project', 'deployed', '--testNamePattern', others]
  const output = await run('npx', args, { cwd: ROOT, env })
  const counted = /^(\d+ passed, \d+ failed)/m.exec(output)?.[1]
  if (counted === undefined) throw new Error(`The end-to-end suites printed no count:\n${output}`)
  note('end-to-end suites through the Ingress', counted)
}

/** A request to each service that answers any, and the ids of the events that were accepted. */
const targetsOf = async ({ url, apiKey, projectId }: Installation, eventName: string) => {
  const call = (requested: string, body?: object, headers: Record<string, string> = {}): Promise<Response> =>
    request(url + requested, {
      headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json', ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  const create = async <T>(resource: string, body: object): Promise<T> => {
    const created = await call(`/api/projects/${projectId}/${resource}`, body)
    if (created.status !== 201)
      throw new Error(`${resource}: ${created.status} instead of 201: ${await created.text()}`)
    return (await created.json()) as T
  }
  const link = await create<{ code: string }>('links', { destination: 'https://shop.example/' })
  const coupon = { kind: 'shared', name: 'Cluster', code: `CLUSTER-${randomUUID()}` }
  await create('coupon-pools', { ...coupon, discount: { type: 'percent', value: 10 } })
  const accepted = new Set<string>()
  const track = async (): Promise<Response> => {
    const eventId = randomUUID()
    const answer = await call('/api/v1/t', { eventName, eventId, visitorId: 'cluster-test' })
    if (answer.status === 202) accepted.add(eventId)
    return answer
  }
  const redeem = (): Promise<Response> => {
    const headers = { 'Idempotency-Key': randomUUID() }
    return call('/api/v1/coupons/redeem', { code: coupon.code, userId: randomUUID() }, headers)
  }
  const visitor = { visitorId: 'cluster-test' }
  const targets: Target[] = [
    { name: 'ingest-gateway', status: 202, call: track },
    { name: 'decision-service', status: 200, call: () => call('/api/v1/decide', visitor) },
    { name: 'link-redirector', status: 302, call: () => call(`/s/${link.code}`) },
    { name: 'coupon-service', status: 200, call: redeem },
    { name: 'management-api', status: 200, call: () => call(`/api/projects/${projectId}/links?limit=1`) },
    { name: 'email-consumer', status: 404, call: () => call('/u/no-such-token') },
  ]
  return { targets, accepted }
}

/** The ids of the events with a name that are stored. */
const storedIds = async (
  { url, apiKey, projectId }: Installation,
  eventName: string,
): Promise<Set<string>> => {
  const ids = new Set<string>()
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = `eventName=${eventName}&limit=500${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const answer = await request(`${url}/api/projects/${projectId}/events?${query}`, {
      headers: { 'X-API-Key': apiKey },
    })
    if (!answer.ok) throw new Error(`Events cannot be listed: ${answer.status}`)
    const page = (await answer.json()) as Page
    for (const { eventId } of page.data) ids.add(eventId)
    cursor = page.nextCursor
  }
  return ids
}

/** The names of the pods of Deployments that are not being deleted. */
const podNames = async (cluster: Cluster): Promise<string[]> =>
  (await cluster.get<Pod>('pods', NAMESPACE))
    .filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'ReplicaSet')
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name)

/**
 * Scales each service up and down and replaces all of its pods while clients send requests through the Ingress.
 * @throws when a request failed, or an accepted event is not stored afterwards
 */
export const changeUnderLoad = async (
  cluster: Cluster,
  installation: Installation,
  note: Note,
): Promise<void> => {
  const eventName = `cluster-${randomUUID()}`
  const { targets, accepted } = await targetsOf(installation, eventName)
  const kubectl = (...args: string[]) => cluster.kubectl([...args, '--namespace', NAMESPACE])
  const services = await cluster.get<Workload>('deployments', NAMESPACE)
  const podsBefore = await podNames(cluster)
  const begunAt = performance.now()
  const load = startLoad(targets)
  let seen: Seen[]
  try {
    for (const { metadata, spec } of services) {
      const name = `deployment/${metadata.name}`
      const { replicas = 1 } = spec
      const changes = [
        ['scale', name, `--replicas=${replicas + 1}`],
        ['scale', name, `--replicas=${replicas}`],
        ['rollout', 'restart', name],
      ]
      for (const change of changes) {
        await kubectl(...change)
        await kubectl('rollout', 'status', name, ROLLOUT)
      }
    }
  } finally {
    seen = await load.stop()
  }
  const seconds = Math.round((performance.now() - begunAt) / 1000)
  note('services scaled up, scaled down and replaced', `${services.length} in ${seconds} s`)
  const kept = (await podNames(cluster)).filter((name) => podsBefore.includes(name))
  note('pods that were replaced', `${podsBefore.length - kept.length} of ${podsBefore.length}`)
  for (const one of seen) note(`requests to ${one.name} meanwhile`, summaryOf(one))
  if (kept.length > 0) throw new Error(`These pods were not replaced: ${kept.join(', ')}`)
  await until('all accepted events are stored', STORED_MS, async () => {
    const stored = await storedIds(installation, eventName)
    return [...accepted].every((id) => stored.has(id))
  })
  note('accepted events that are stored', `${accepted.size} of ${accepted.size}`)
  const failed = seen.reduce((sum, { failures }) => sum + failures.length, 0)
  if (failed > 0) throw new Error(`${failed} requests failed`)
}
