import type { KubernetesObject } from '../render.ts'
import { run } from './run.ts'

/** Objects as kubectl reads them. As YAML it would read the text `no` as a truth value. */
const listOf = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items })

/** Commands to a cluster. All of them throw with the message of kubectl when it refuses. */
export const createKubectl = (kubeconfig: string) => {
  const kubectl = (args: readonly string[], input?: string): Promise<string> =>
    run('kubectl', args, { env: { KUBECONFIG: kubeconfig }, ...(input !== undefined && { input }) })
  const linesOf = (output: string): string[] => output.split('\n').filter((line) => line !== '')
  const apply = async (objects: readonly KubernetesObject[], more: readonly string[]): Promise<number> => {
    const common = ['apply', '--server-side', '--force-conflicts', '--validate=strict']
    return linesOf(await kubectl([...common, ...more, '--filename', '-'], listOf(objects))).length
  }
  return {
    kubeconfig,
    kubectl,
    /** Applies objects, and returns their number. */
    apply: (objects: readonly KubernetesObject[]) => apply(objects, []),
    /** Has the API server check objects without storing them, and returns their number. */
    dryRun: (objects: readonly KubernetesObject[]) => apply(objects, ['--dry-run=server']),
    /** Has the API server check new objects, which no controller has to create. */
    dryCreate: async (objects: readonly KubernetesObject[]): Promise<number> =>
      linesOf(await kubectl(['create', '--dry-run=server', '--filename', '-'], listOf(objects))).length,
    /** What `kubectl get` finds. */
    get: async <T>(kind: string, namespace: string): Promise<T[]> => {
      const output = await kubectl(['get', kind, '--namespace', namespace, '--output', 'json'])
      return (JSON.parse(output) as { items: T[] }).items
    },
    exists: async (kind: string, name: string): Promise<boolean> =>
      (await kubectl(['get', kind, name, '--ignore-not-found', '--output', 'name'])) !== '',
  }
}

export type Cluster = ReturnType<typeof createKubectl>
