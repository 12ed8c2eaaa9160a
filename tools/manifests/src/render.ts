import { execFileSync, spawnSync } from 'node:child_process'
import path from 'node:path'
import { parseAllDocuments } from 'yaml'

const K8S = path.resolve(import.meta.dirname, '../../../deploy/k8s')

/** The fields of a Kubernetes object that the tests read. */
export type KubernetesObject = {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
  }
  [field: string]: unknown
}

const COMMANDS = [
  ['kustomize', 'build'],
  ['kubectl', 'kustomize'],
] as const

/** The command that renders manifests, or undefined without kustomize and kubectl. */
export const findKustomize = (): readonly [string, string] | undefined =>
  COMMANDS.find(([command]) => spawnSync(command, ['--help'], { stdio: 'ignore' }).status === 0)

/** The YAML of a folder below `deploy/k8s`, as `kubectl apply -k` would send it. */
export const renderText = ([command, verb]: readonly [string, string], folder: string): string =>
  execFileSync(command, [verb, path.join(K8S, folder)], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })

/** The objects in a YAML text. */
export const objectsIn = (text: string): readonly KubernetesObject[] =>
  parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject)

const rendered = new Map<string, readonly KubernetesObject[]>()

/** The objects of a folder below `deploy/k8s`, which is rendered once in a process. */
export const render = (kustomize: readonly [string, string], folder: string): readonly KubernetesObject[] => {
  const objects = rendered.get(folder) ?? objectsIn(renderText(kustomize, folder))
  rendered.set(folder, objects)
  return objects
}
