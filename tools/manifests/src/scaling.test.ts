import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type ConsumerGroup, consumerGroups } from '@waymark/contracts/topics'
import { describe, expect, it } from 'vitest'
import { findKustomize, type KubernetesObject, render } from './render.ts'
import { workloadsOf } from './workloads.ts'

const APPS = path.resolve(import.meta.dirname, '../../../apps')
const kustomize = findKustomize()

/** The subscriptions of the apps, read from their code: app, group and topic, sorted. */
const subscriptions = (): string[] => {
  const groups: Record<string, ConsumerGroup> = consumerGroups
  const services = readdirSync(APPS).filter((app) => !['standalone', 'console', 'cli'].includes(app))
  return services.flatMap((app) => {
    const source = readFileSync(path.join(APPS, app, 'src/app.ts'), 'utf8')
    const found = [...source.matchAll(/bus\.subscribe\(\{\s+\.\.\.consumerGroups\.(\w+),/g)]
    const calls = source.match(/bus\.subscribe\(/g) ?? []
    if (found.length !== calls.length) throw new Error(`not every subscription of ${app} is understood`)
    return found.map(([, name]) => [app, groups[`${name}`]?.group, groups[`${name}`]?.topic.name].join(' '))
  })
}

type ScaledObject = {
  scaleTargetRef: { name: string }
  minReplicaCount: number
  maxReplicaCount: number
  triggers: { type: string; metadata: { consumerGroup: string; topic: string; lagThreshold: string } }[]
}
type Autoscaler = { scaleTargetRef: { name: string }; minReplicas: number; maxReplicas: number }

const specsOf = <T>(objects: readonly KubernetesObject[], kind: string): T[] =>
  objects.filter((object) => object.kind === kind).map(({ spec }) => spec as T)

describe.skipIf(!kustomize)('scaling', () => {
  const objects = kustomize ? render(kustomize, 'overlays/operators') : []
  const byLag = specsOf<ScaledObject>(objects, 'ScaledObject')
  const byCpu = specsOf<Autoscaler>(objects, 'HorizontalPodAutoscaler')

  it('follows the lag of every group of every consumer', () => {
    const triggers = byLag.flatMap((scaled) =>
      scaled.triggers.map(({ type, metadata: { consumerGroup, topic } }) => {
        expect(type).toBe('kafka')
        return [scaled.scaleTargetRef.name, consumerGroup, topic].join(' ')
      }),
    )
    expect(subscriptions().length).toBe(Object.keys(consumerGroups).length)
    expect(triggers.toSorted()).toEqual(subscriptions().toSorted())
  })

  it('names brokers so that KEDA finds them from its own namespace', () => {
    const config = objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && /^waymark-config/.test(metadata.name),
    )
    const { KAFKA_BROKERS = '' } = (config?.data ?? {}) as Record<string, string>
    expect(KAFKA_BROKERS).toMatch(/^[a-z-]+\.waymark\.svc:9093$/)
  })

  it('keeps two replicas of everything that answers requests', () => {
    const least = [
      ...byCpu.map(({ scaleTargetRef, minReplicas }) => [scaleTargetRef.name, minReplicas] as const),
      ...byLag.map(({ scaleTargetRef, minReplicaCount }) => [scaleTargetRef.name, minReplicaCount] as const),
    ]
    expect(least.length).toBe(9)
    expect(least.filter(([, replicas]) => replicas < 2)).toEqual([])
  })

  it('stays within the connections of the database and the partitions of topics', () => {
    const config = objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && /^waymark-config/.test(metadata.name),
    )
    const { DATABASE_POOL_SIZE, KAFKA_PARTITIONS } = (config?.data ?? {}) as Record<string, string>
    const surge = workloadsOf(objects).reduce(
      (sum, { rollingUpdate }) => sum + (rollingUpdate?.maxSurge ?? 0),
      0,
    )
    const most =
      byCpu.reduce((sum, { maxReplicas }) => sum + maxReplicas, surge) +
      byLag.reduce((sum, { maxReplicaCount }) => sum + maxReplicaCount, 0)
    const [cluster] = specsOf<{ postgresql: { parameters: { max_connections: string } } }>(objects, 'Cluster')
    // Some connections are reserved for the setup, the operator and people.
    expect(most * Number(DATABASE_POOL_SIZE)).toBeLessThan(
      Number(cluster?.postgresql.parameters.max_connections) - 50,
    )
    for (const { maxReplicaCount } of byLag)
      expect(maxReplicaCount).toBeLessThanOrEqual(Number(KAFKA_PARTITIONS))
  })
})
