import { stringify } from 'yaml'
import { CHART } from '../helm.ts'
import { findKustomize, type KubernetesObject, render } from '../render.ts'
import type { Cluster } from './kubectl.ts'
import { inNamespace, isServed, podsOf } from './objects.ts'
import { run } from './run.ts'

export const OVERLAYS = ['local', 'production', 'operators'] as const
const HELM_NAMESPACE = 'waymark-helm'
/** The namespaces that the checks create. */
export const NAMESPACES = [HELM_NAMESPACE, ...OVERLAYS.map((name) => `waymark-${name}`)]

/** Notes a result for the report. */
export type Note = (check: string, result: string) => void

/** Values for an installation by Helm. */
const VALUES = {
  mail: { from: 'Waymark <waymark@example.com>' },
  kafka: { brokers: 'kafka.example.com:9093', tls: true, saslMechanism: 'scram-sha-512' },
  postgresql: { url: 'postgres://db.example.com:5432/waymark', tlsMode: 'verify-full' },
  redis: { url: 'rediss://redis.example.com:6379' },
  clickhouse: { url: 'https://waymark@clickhouse.example.com:8443' },
  caCertificates: { secretName: 'waymark-tls' },
  ingress: { className: 'nginx', host: 'waymark.example.com', tls: { enabled: true } },
}

/** The objects of an overlay. @throws without kustomize and kubectl */
export const overlay = (name: string): readonly KubernetesObject[] => {
  const kustomize = findKustomize()
  if (!kustomize) throw new Error('Install kustomize or kubectl: neither is there')
  return render(kustomize, `overlays/${name}`)
}

const namespaceWith = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
})

/**
 * Has the API server check every object and pod of an overlay in a namespace of its own. Objects of operators that the
 * cluster does not know are left out, and noted.
 */
export const checkOverlay = async (cluster: Cluster, name: string, note: Note): Promise<void> => {
  const namespace = `waymark-${name}`
  const served = (await cluster.kubectl(['api-versions'])).split('\n')
  const all = inNamespace(overlay(name), namespace)
  const known = all.filter((object) => isServed(object, served))
  const unknown = [...new Set(all.filter((object) => !isServed(object, served)).map(({ kind }) => kind))]
  // A namespace must exist before its objects can be checked.
  await cluster.apply([namespaceWith(namespace)])
  const accepted = await cluster.dryRun(known)
  note(`overlays/${name}, strict server-side dry run`, `${accepted} of ${known.length} objects accepted`)
  if (unknown.length > 0) note(`overlays/${name}, without a schema`, unknown.sort().join(', '))
  if (accepted !== known.length) throw new Error(`The API server did not answer for all of overlays/${name}`)

  // A pod is admitted with an existing account and priority only, and no controller creates the default account here.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }
  const accounts = known.filter(({ kind }) => kind === 'ServiceAccount')
  await cluster.apply([account, ...accounts, ...(await missingPriorityClasses(cluster, known))])
  const pods = podsOf(known)
  const admitted = await cluster.dryCreate(pods)
  note(`overlays/${name}, pods admitted as restricted`, `${admitted} of ${pods.length}`)
  if (admitted !== pods.length) throw new Error(`The API server did not answer for all pods of ${name}`)
}

/** The PriorityClasses that the cluster lacks. One with the same name belongs to its owner and must not be changed. */
export const missingPriorityClasses = async (
  cluster: Pick<Cluster, 'exists'>,
  objects: readonly KubernetesObject[],
): Promise<KubernetesObject[]> => {
  const missing: KubernetesObject[] = []
  for (const object of objects)
    if (object.kind === 'PriorityClass' && !(await cluster.exists('priorityclass', object.metadata.name)))
      missing.push(object)
  return missing
}

/** Checks that the API server refuses a pod that is not restricted, so that the checks above mean something. */
export const checkRefusal = async (cluster: Cluster, name: string, note: Note): Promise<void> => {
  const pod: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'unrestricted', namespace: `waymark-${name}` },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  }
  const refusal = await cluster.dryCreate([pod]).then(
    () => '',
    (error: Error) => error.message,
  )
  if (!refusal.includes('violates PodSecurity "restricted'))
    throw new Error(`A pod without a security context was not refused: ${refusal}`)
  note('a pod without a security context', 'refused')
}

/** Applies an overlay for real. */
export const applyOverlay = async (cluster: Cluster, name: string, note: Note): Promise<void> => {
  const served = (await cluster.kubectl(['api-versions'])).split('\n')
  const objects = inNamespace(overlay(name), `waymark-${name}`).filter((object) => isServed(object, served))
  note(`overlays/${name}, applied`, `${await cluster.apply(objects)} of ${objects.length} objects`)
}

type Autoscaler = { metadata: { name: string }; spec: { maxReplicas: number } }

/** Installs the Helm chart, upgrades it, rolls it back and removes it. */
export const checkHelm = async (cluster: Cluster, note: Note): Promise<void> => {
  const helm = (command: readonly string[], values?: object): Promise<string> => {
    const input = values && { input: stringify(values) }
    const file = values ? ['--values', '-'] : []
    const env = { KUBECONFIG: cluster.kubeconfig }
    return run('helm', [...command, '--namespace', HELM_NAMESPACE, ...file], { env, ...input })
  }
  const gateways = async (): Promise<number | undefined> => {
    const found = await cluster.get<Autoscaler>('hpa', HELM_NAMESPACE)
    return found.find(({ metadata }) => metadata.name === 'ingest-gateway')?.spec.maxReplicas
  }
  const expectGateways = async (step: string, expected: number | undefined): Promise<void> => {
    const found = await gateways()
    if (found !== expected) throw new Error(`After helm ${step} the autoscaler has ${found}, not ${expected}`)
    note(`helm ${step}`, expected === undefined ? 'nothing is left' : 'done')
  }
  const more = { ...VALUES, apps: { 'ingest-gateway': { autoscaling: { maxReplicas: 31 } } } }
  await cluster.apply([namespaceWith(HELM_NAMESPACE)])
  await helm(['lint', CHART], VALUES)
  await helm(['install', 'waymark', CHART, '--dry-run=server'], VALUES)
  await expectGateways('install --dry-run=server', undefined)
  await helm(['install', 'waymark', CHART], VALUES)
  await expectGateways('install', 20)
  await helm(['upgrade', 'waymark', CHART, '--dry-run=server'], more)
  await expectGateways('upgrade --dry-run=server', 20)
  await helm(['upgrade', 'waymark', CHART], more)
  await expectGateways('upgrade', 31)
  await helm(['rollback', 'waymark', '1'])
  await expectGateways('rollback', 20)
  await helm(['uninstall', 'waymark'])
  await expectGateways('uninstall', undefined)
}

/** The names of the PriorityClasses that the checks will create, which belong to no namespace. */
export const priorityClassesToCreate = async (cluster: Cluster): Promise<string[]> =>
  (await missingPriorityClasses(cluster, OVERLAYS.flatMap(overlay))).map(({ metadata }) => metadata.name)
