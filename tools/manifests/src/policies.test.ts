import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type End, lets } from './policies.ts'
import { findKustomize, type KubernetesObject, render } from './render.ts'
import { workloadsOf } from './workloads.ts'

const K8S = path.resolve(import.meta.dirname, '../../../deploy/k8s')
const PUBLIC = [
  'ingest-gateway',
  'management-api',
  'link-redirector',
  'coupon-service',
  'decision-service',
  'email-consumer',
]
const CONSUMERS = ['enrichment-consumer', 'persistence-consumer', 'webhook-dispatcher']

const kustomize = findKustomize()

const podsOf = (objects: readonly KubernetesObject[]) => {
  const pods = workloadsOf(objects).map(({ name, podLabels, pod }): [string, End] => [
    name,
    { labels: podLabels, ports: pod.containers.flatMap(({ ports = [] }) => ports) },
  ])
  return (name: string): End => {
    const found = pods.find(([own]) => own === name)
    if (!found) throw new Error(`${name} runs no pods`)
    return found[1]
  }
}
const outside = (namespace: string, labels = {}): End => ({ labels, namespace })
const stranger: End = { labels: { app: 'stranger' } }

describe.skipIf(!kustomize)('the policies of the local overlay', () => {
  const objects = kustomize ? render(kustomize, 'overlays/local') : []
  const pod = podsOf(objects)

  it('allow only the apps and the setup to connect to the servers', () => {
    const all = [...PUBLIC, ...CONSUMERS, 'migrate', 'topics', 'demo']
    const readers: Record<string, string[]> = {
      clickhouse: ['ingest-gateway', 'persistence-consumer', 'management-api', 'migrate'],
    }
    for (const [server, port] of Object.entries({
      postgres: 5432,
      redis: 6379,
      kafka: 9092,
      clickhouse: 8123,
    })) {
      const reaches = all.filter((name) => lets(objects, { from: pod(name), to: pod(server), port }))
      expect([server, reaches]).toEqual([
        server,
        all.filter((name) => readers[server]?.includes(name) ?? true),
      ])
      expect(lets(objects, { from: stranger, to: pod(server), port })).toBe(false)
      expect(lets(objects, { from: outside('elsewhere'), to: pod(server), port })).toBe(false)
    }
    expect(lets(objects, { from: pod('ingest-gateway'), to: pod('postgres'), port: 22 })).toBe(false)
  })

  it('allow connections to the ports of the servers nowhere else', () => {
    for (const port of [5432, 6379, 9092, 8123])
      for (const to of [stranger, outside('elsewhere'), { ...outside('internet'), address: '10.1.2.3' }])
        expect([port, lets(objects, { from: pod('coupon-service'), to, port })]).toEqual([port, false])
  })

  it('allow DNS by UDP and TCP', () => {
    for (const protocol of ['UDP', 'TCP'] as const)
      for (const from of [pod('ingest-gateway'), pod('migrate'), pod('kafka')])
        expect(lets(objects, { from, to: outside('kube-system'), port: 53, protocol })).toBe(true)
  })

  it('allow only the email consumer to send mail', () => {
    expect(lets(objects, { from: pod('email-consumer'), to: pod('mail'), port: 1025 })).toBe(true)
    expect(lets(objects, { from: pod('ingest-gateway'), to: pod('mail'), port: 1025 })).toBe(false)
    // The catcher is the only mail server.
    const other = { ...outside('internet'), address: '93.184.215.14' }
    for (const port of [587, 1025])
      expect(lets(objects, { from: pod('email-consumer'), to: other, port })).toBe(false)
  })

  it('allow only the webhook dispatcher and management-api to connect to the internet, and not to private networks', () => {
    const reaches = (name: string, address: string): boolean =>
      lets(objects, { from: pod(name), to: { labels: {}, namespace: 'internet', address }, port: 443 })
    for (const address of ['93.184.215.14', '2606:2800:21f:cb07::1']) {
      expect(reaches('webhook-dispatcher', address)).toBe(true)
      // The OpenID Connect providers of tenants.
      expect(reaches('management-api', address)).toBe(true)
      expect(reaches('coupon-service', address)).toBe(false)
    }
    for (const address of [
      '10.0.0.1',
      '127.0.0.1',
      // Internal services of Azure.
      '168.63.129.16',
      '169.254.169.254',
      '172.16.0.1',
      '192.168.0.1',
      'fd00::1',
      '::1',
    ])
      for (const name of ['webhook-dispatcher', 'management-api'])
        expect([name, address, reaches(name, address)]).toEqual([name, address, false])
  })

  it('allow an Ingress controller of any namespace, and Prometheus to read metrics', () => {
    for (const name of PUBLIC)
      expect(lets(objects, { from: outside('traefik'), to: pod(name), port: 8080 })).toBe(true)
    for (const name of CONSUMERS)
      expect(lets(objects, { from: outside('traefik'), to: pod(name), port: 8080 })).toBe(false)
    expect(lets(objects, { from: outside('monitoring'), to: pod('ingest-gateway'), port: 9464 })).toBe(true)
    expect(lets(objects, { from: outside('traefik'), to: pod('ingest-gateway'), port: 9464 })).toBe(false)
  })

  it('allow only the demo Job to connect to the API server', () => {
    for (const port of [443, 6443, 8443]) {
      expect(lets(objects, { from: pod('demo'), to: outside('api-server'), port })).toBe(true)
      expect(lets(objects, { from: pod('migrate'), to: outside('api-server'), port })).toBe(false)
    }
  })
})

describe.skipIf(!kustomize)('the policies of the overlay operators', () => {
  const objects = kustomize ? render(kustomize, 'overlays/operators') : []
  const pod = podsOf(objects)
  const broker: End = { labels: { 'strimzi.io/cluster': 'waymark', 'strimzi.io/kind': 'Kafka' } }
  const database: End = { labels: { 'cnpg.io/cluster': 'waymark-db' } }
  const clickhouse: End = { labels: { 'app.kubernetes.io/name': 'clickhouse' } }

  it('allow apps, KEDA, the operators and the servers themselves to connect to the servers', () => {
    const operator = outside('strimzi', { 'strimzi.io/kind': 'cluster-operator' })
    for (const flow of [
      { from: pod('persistence-consumer'), to: broker, port: 9093 },
      { from: pod('topics'), to: broker, port: 9093 },
      { from: outside('keda', { app: 'keda-operator' }), to: broker, port: 9093 },
      { from: operator, to: broker, port: 9091 },
      { from: broker, to: broker, port: 9090 },
      { from: outside('monitoring'), to: broker, port: 9404 },
      { from: broker, to: outside('api-server'), port: 443 },
      { from: pod('migrate'), to: database, port: 5432 },
      { from: database, to: database, port: 5432 },
      { from: outside('cnpg-system'), to: database, port: 8000 },
      { from: outside('monitoring'), to: database, port: 9187 },
      { from: pod('persistence-consumer'), to: clickhouse, port: 8443 },
      { from: pod('migrate'), to: clickhouse, port: 8443 },
      { from: outside('clickhouse', { app: 'clickhouse-operator' }), to: clickhouse, port: 8123 },
      // The label of the Helm chart.
      {
        from: outside('clickhouse', { 'app.kubernetes.io/name': 'altinity-clickhouse-operator' }),
        to: clickhouse,
        port: 8123,
      },
    ])
      expect([flow, lets(objects, flow)]).toEqual([flow, true])
    for (const flow of [
      { from: stranger, to: clickhouse, port: 8443 },
      { from: pod('link-redirector'), to: clickhouse, port: 8443 },
      { from: pod('persistence-consumer'), to: clickhouse, port: 8123 },
      { from: pod('persistence-consumer'), to: outside('api-server'), port: 8443 },
      { from: pod('persistence-consumer'), to: stranger, port: 9093 },
      { from: pod('persistence-consumer'), to: stranger, port: 5432 },
    ])
      expect([flow, lets(objects, flow)]).toEqual([flow, false])
    expect(lets(objects, { from: stranger, to: broker, port: 9093 })).toBe(false)
    expect(lets(objects, { from: outside('keda'), to: database, port: 5432 })).toBe(false)
  })

  it('are as strict as those that Strimzi adds for its listeners', () => {
    type Kafka = { kafka: { listeners: { port: number; networkPolicyPeers?: object[] }[] } }
    type Policy = { ingress: { from: object[]; ports?: { port: number }[] }[] }
    const kafka = objects.find(({ kind }) => kind === 'Kafka')?.spec as Kafka
    const policy = objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'kafka')
      ?.spec as Policy
    for (const { port, networkPolicyPeers } of kafka.kafka.listeners) {
      const rule = policy.ingress.find(({ ports }) => ports?.[0]?.port === port)
      expect(rule?.from.length).toBeGreaterThan(0)
      expect(networkPolicyPeers).toEqual(rule?.from)
    }
  })

  it('allow the Ingress controller from its namespace only, and backfills and readers of flags by their label', () => {
    const to = pod('ingest-gateway')
    expect(lets(objects, { from: outside('ingress-nginx'), to, port: 8080 })).toBe(true)
    expect(lets(objects, { from: outside('elsewhere'), to, port: 8080 })).toBe(false)
    const reader = { 'waymark/flag-sync': 'true' }
    const flags = { to: pod('decision-service'), port: 8015 }
    expect(lets(objects, { from: outside('elsewhere', reader), ...flags })).toBe(true)
    expect(lets(objects, { from: outside('ingress-nginx'), ...flags })).toBe(false)
    const backfill = { 'waymark/backfill': 'true' }
    expect(lets(objects, { from: outside('elsewhere', backfill), to, port: 8080 })).toBe(true)
    expect(
      lets(objects, { from: outside('elsewhere', backfill), to: pod('management-api'), port: 8080 }),
    ).toBe(false)
  })
})

describe.skipIf(!kustomize)('the policies of the overlay production', () => {
  const objects = kustomize ? render(kustomize, 'overlays/production') : []
  const pod = podsOf(objects)
  const server = (address: string): End => ({ labels: {}, namespace: 'elsewhere', address })

  it('allow connections to the servers by their address', () => {
    for (const [name, port] of [
      ['link-redirector', 5432],
      ['link-redirector', 6379],
      ['topics', 9093],
      ['persistence-consumer', 8443],
    ] as const) {
      expect([port, lets(objects, { from: pod(name), to: server('10.1.2.3'), port })]).toEqual([port, true])
      // 203.0.113.0/24 is public; persistence-consumer may use port 443 there.
      expect([port, lets(objects, { from: pod(name), to: server('203.0.113.7'), port })]).toEqual([
        port,
        false,
      ])
    }
    expect(lets(objects, { from: pod('link-redirector'), to: server('10.1.2.3'), port: 8443 })).toBe(false)
  })
})

describe.skipIf(!kustomize).each(['production', 'operators'])('the policies of the overlay %s', (overlay) => {
  const objects = kustomize ? render(kustomize, `overlays/${overlay}`) : []
  const pod = podsOf(objects)
  const reaches = (name: string, address: string, port: number): boolean =>
    lets(objects, { from: pod(name), to: { labels: {}, namespace: 'internet', address }, port })

  it('allow mail and the archive at public addresses, and only for their app', () => {
    for (const address of ['93.184.215.14', '2606:2800:21f:cb07::1']) {
      for (const port of [25, 465, 587]) {
        expect([port, reaches('email-consumer', address, port)]).toEqual([port, true])
        expect([port, reaches('coupon-service', address, port)]).toEqual([port, false])
      }
      expect(reaches('persistence-consumer', address, 443)).toBe(true)
      expect(reaches('enrichment-consumer', address, 443)).toBe(false)
    }
    for (const address of ['10.1.2.3', '168.63.129.16', '169.254.169.254', '192.168.0.1', 'fd00::1']) {
      expect(reaches('email-consumer', address, 587)).toBe(false)
      expect(reaches('persistence-consumer', address, 443)).toBe(false)
    }
  })
})

describe.skipIf(!kustomize)('the component tracing', () => {
  const collector = outside('monitoring', { app: 'otel-collector' })

  /** A custom overlay that adds the component to the production overlay. */
  const renderWithTracing = () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'overlay-'))
    const resource = path.relative(folder, path.join(K8S, 'overlays/production'))
    const component = path.relative(folder, path.join(K8S, 'components/tracing'))
    const overlay = `namespace: waymark\nresources: [${resource}]\ncomponents: [${component}]\n`
    writeFileSync(path.join(folder, 'kustomization.yaml'), overlay)
    return kustomize ? render(kustomize, path.relative(K8S, folder)) : []
  }

  it('configures the collector in every process, and allows connections to it', () => {
    const traced = renderWithTracing()
    const from = podsOf(traced)('ingest-gateway')
    expect(lets(traced, { from, to: collector, port: 4318 })).toBe(true)
    const plain = kustomize ? render(kustomize, 'overlays/production') : []
    expect(lets(plain, { from, to: collector, port: 4318 })).toBe(false)
    const config = traced.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('waymark-config'),
    )
    expect(config?.data).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel-collector.monitoring:4318',
      DATABASE_POOL_SIZE: '8',
      KAFKA_TLS: 'true',
    })
  })
})
