import { execFileSync, spawnSync } from 'node:child_process'
import path from 'node:path'
import { stringify } from 'yaml'
import { type KubernetesObject, objectsIn } from './render.ts'

/** The folder of the Helm chart. */
export const CHART = path.resolve(import.meta.dirname, '../../../deploy/helm/waymark')

/** The file of the chart with the objects of `deploy/k8s/base`. */
export const CHART_BASE = path.join(CHART, 'files/base.yaml')

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
export const renderChart = (values: object = {}): readonly KubernetesObject[] =>
  objectsIn(helm(['template', 'waymark', CHART, '--namespace', 'waymark'], values))
