import { execFileSync, spawnSync } from 'node:child_process'
import path from 'node:path'
import { stringify } from 'yaml'
import { type KubernetesObject, objectsIn } from './render.ts'

/** The folder of the Helm chart. */
export const CHART = path.resolve(import.meta.dirname, '../../../deploy/helm/waymark')

/** The file of the chart with the objects of `deploy/k8s/base`. */
export const CHART_BASE = path.join(CHART, 'files/base.yaml')

/** The file of the chart with the servers of `deploy/k8s/overlays/local`. */
export const CHART_BUNDLED = path.join(CHART, 'files/bundled.yaml')

const SERVERS = ['postgres', 'redis', 'kafka', 'clickhouse', 'mail']
const POLICIES = ['local-stores', 'stores', 'clickhouse', 'mail']

/** The servers of the overlay `local`, and the policies for connections to them, for any namespace. */
export const bundledObjects = (local: readonly KubernetesObject[]): KubernetesObject[] =>
  local
    .filter(({ kind, metadata: { name } }) =>
      kind === 'NetworkPolicy'
        ? POLICIES.includes(name)
        : ['Service', 'StatefulSet', 'ConfigMap'].includes(kind) &&
          SERVERS.some((server) => name.startsWith(server)),
    )
    .map(
      ({ metadata: { namespace: _, ...metadata }, ...object }) =>
        ({ ...object, metadata }) as KubernetesObject,
    )

/** Whether helm is installed. */
export const hasHelm = (): boolean => spawnSync('helm', ['version'], { stdio: 'ignore' }).status === 0

/** The output of a command of helm with values. @throws with helm's message when it fails */
export const helm = (command: readonly string[], values: object = {}): string =>
  execFileSync('helm', [...command, '--values', '-'], {
    encoding: 'utf8',
    input: stringify(values),
    stdio: 'pipe',
    maxBuffer: 64 * 1024 * 1024,
  })

/** The objects that `helm install` would create. @throws with helm's message when it refuses the values */
export const renderChartAnew = (values: object = {}): readonly KubernetesObject[] =>
  objectsIn(helm(['template', 'waymark', CHART, '--namespace', 'waymark'], values))

const rendered = new Map<string, readonly KubernetesObject[]>()

/** Does the same once in a process for the same values. */
export const renderChart = (values: object = {}): readonly KubernetesObject[] => {
  const key = JSON.stringify(values)
  const objects = rendered.get(key) ?? renderChartAnew(values)
  rendered.set(key, objects)
  return objects
}
