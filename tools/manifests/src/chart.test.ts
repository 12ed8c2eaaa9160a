import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { serviceNames } from '@waymark/database'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import {
  bundledObjects,
  CHART,
  CHART_BASE,
  CHART_BUNDLED,
  hasHelm,
  helm,
  renderChart,
  renderChartAnew,
} from './helm.ts'
import { schemaProblems, unknownFields } from './models.ts'
import { findKustomize, type KubernetesObject, objectsIn, render } from './render.ts'
import { restrictedProblems, workloadsOf } from './workloads.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const DIGEST = `sha256:${'a'.repeat(64)}`

const kustomize = findKustomize()
const withHelm = hasHelm()
if (!withHelm) {
  if (process.env.CI) throw new Error('helm is missing, and in CI no test may be left out')
  process.stdout.write('helm is missing: the Helm chart is not checked.\n')
}

/** Values for an installation that uses all of them. */
const EVERYTHING = {
  image: {
    registry: 'registry.example.com',
    prefix: 'shop/waymark-',
    tag: '1.2.3',
    digests: { 'ingest-gateway': DIGEST },
    pullPolicy: 'Always',
  },
  imagePullSecrets: [{ name: 'registry-login' }],
  priorityClassName: 'normal',
  nodeSelector: { pool: 'apps' },
  tolerations: [{ key: 'apps', operator: 'Exists', effect: 'NoSchedule' }],
  mail: { from: 'Shop <hello@shop.example>' },
  config: { LOG_LEVEL: 'debug', REGISTRATION_MODE: 'closed' },
  secrets: { connections: 'shop-connections', databasePrefix: 'shop-role-' },
  kafka: { brokers: 'kafka-0:9093,kafka-1:9093', tls: true, saslMechanism: 'scram-sha-512' },
  postgresql: { url: 'postgres://db.example.com:5432/waymark', tlsMode: 'verify-full' },
  redis: { url: 'rediss://redis.example.com:6379' },
  clickhouse: { url: 'https://waymark@clickhouse.example.com:8443' },
  caCertificates: { secretName: 'authorities', keys: { redis: '' } },
  ingress: {
    className: 'nginx',
    host: 'waymark.example.com',
    annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' },
    tls: { enabled: true, secretName: 'certificate' },
  },
  networkPolicies: {
    ingressNamespace: 'edge',
    monitoringNamespace: 'prometheus',
    stores: { cidrs: ['192.0.2.0/24', '2001:db8::/32'], ports: [{ protocol: 'TCP', port: 6432 }] },
    clickhouse: { cidrs: ['198.51.100.7/32'] },
    mail: { cidrs: ['203.0.113.25/32'], ports: [{ protocol: 'TCP', port: 2587 }] },
    archive: { cidrs: ['203.0.113.43/32'], ports: [{ protocol: 'TCP', port: 9000 }] },
  },
  setup: { resources: { limits: { memory: '1Gi' } } },
  apps: {
    'ingest-gateway': { autoscaling: { minReplicas: 5, maxReplicas: 50, cpuUtilization: 75 } },
    'coupon-service': {
      replicas: 4,
      autoscaling: { enabled: false },
      resources: { limits: { memory: '2Gi' } },
      priorityClassName: 'high',
    },
  },
}

const find = (objects: readonly KubernetesObject[], kind: string, name: string): KubernetesObject => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name)
  if (!found) throw new Error(`There is no ${kind} ${name}`)
  return found
}
const kindsOf = (objects: readonly KubernetesObject[]): string[] => objects.map(({ kind }) => kind)
const configOf = (objects: readonly KubernetesObject[]): Record<string, string> =>
  find(objects, 'ConfigMap', 'waymark-config').data as Record<string, string>
const jobsOf = (objects: readonly KubernetesObject[]): string[] =>
  objects.filter(({ kind }) => kind === 'Job').map(({ metadata }) => metadata.name)

/** What Helm adds to objects. */
const ADDED = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
  'checksum/config',
]

/** A value of an object without what Helm adds, and without the hashes in names. */
const withoutRelease = (_: string, value: unknown): unknown => {
  if (typeof value === 'string')
    return value.replace(/^(waymark-config)-[a-z0-9]{10}$|^(migrate|topics)-[0-9a-f]{8}$/, '$1$2')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(([key]) => !ADDED.includes(key))
  return kept.length === 0 && 'checksum/config' in value ? undefined : Object.fromEntries(kept)
}

/** Objects by kind and name, in the form in which those of Helm and of kustomize are equal. */
const comparable = (objects: readonly KubernetesObject[]): Record<string, unknown> => {
  const plain = JSON.parse(JSON.stringify(objects, withoutRelease)) as KubernetesObject[]
  return Object.fromEntries(plain.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
}

describe('the Helm chart', () => {
  it('has the version of the project', () => {
    const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      version: string
    }
    expect(parse(readFileSync(path.join(CHART, 'Chart.yaml'), 'utf8'))).toMatchObject({
      version,
      appVersion: version,
    })
  })

  it.skipIf(!kustomize)('has the objects of the kustomize base; renew them by `npm run k8s:chart`', () => {
    const base = kustomize ? render(kustomize, 'base') : []
    expect(objectsIn(readFileSync(CHART_BASE, 'utf8'))).toEqual(base)
  })
})

it.skipIf(!kustomize)(
  'the Helm chart has the servers of overlays/local; renew them by `npm run k8s:chart`',
  () => {
    const local = kustomize ? bundledObjects(render(kustomize, 'overlays/local')) : []
    expect(local.filter(({ kind }) => kind === 'StatefulSet')).toHaveLength(5)
    expect(objectsIn(readFileSync(CHART_BUNDLED, 'utf8'))).toEqual(local)
  },
)

describe.skipIf(!withHelm)('bundled servers', () => {
  const bundled = withHelm ? renderChart({ bundled: { enabled: true } }) : []
  const workloads = workloadsOf(bundled)
  const secrets = new Map(
    bundled
      .filter(({ kind }) => kind === 'Secret')
      .map(({ metadata, data }) => [metadata.name, data as Record<string, string>]),
  )

  it('are objects that are valid for the API, with restricted pods', async () => {
    expect(await schemaProblems(bundled)).toEqual([])
    expect(unknownFields(bundled)).toEqual([])
    expect(workloads.flatMap(restrictedProblems)).toEqual([])
    const ids = bundled.map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    expect(ids).toHaveLength(new Set(ids).size)
  })

  it('come with each Secret that a pod reads', () => {
    const needed = [
      ...JSON.stringify(workloads.map(({ pod }) => pod)).matchAll(/"name":"(waymark-[a-z-]+)"/g),
    ]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'waymark-config')
    expect(new Set(needed)).toEqual(new Set(secrets.keys()))
    expect(Object.keys(secrets.get('waymark-connections') ?? {}).toSorted()).toEqual([
      'ERASURE_SECRET',
      'MAIL_SECRET',
    ])
    for (const name of serviceNames) {
      const key = `SERVICE_ROLE_PASSWORD_${name.toUpperCase().replaceAll('-', '_')}`
      const role = secrets.get(`waymark-database-${name}`)
      expect(role?.DATABASE_PASSWORD).toBe(secrets.get('waymark-setup')?.[key])
      expect(atob(role?.DATABASE_USERNAME ?? '')).toBe(`waymark_${name.replaceAll('-', '_')}`)
    }
    expect(new Set([...secrets.values()].flatMap(Object.values)).size).toBeGreaterThan(
      2 * serviceNames.length,
    )
    expect(() => renderChart({ bundled: { enabled: true }, secrets: { setup: 'mine' } })).toThrow(
      'secrets.setup must be waymark-setup',
    )
  })

  it('are where the configuration says, and everything is small', () => {
    const { data } = find(bundled, 'ConfigMap', 'waymark-config') as unknown as {
      data: Record<string, string>
    }
    const services = bundled.filter(({ kind }) => kind === 'Service').map(({ metadata }) => metadata.name)
    for (const variable of ['DATABASE_URL', 'REDIS_URL', 'CLICKHOUSE_URL', 'SMTP_URL'])
      expect(services).toContain(new URL(data[variable] ?? '').hostname)
    expect(data).toMatchObject({
      KAFKA_BROKERS: 'kafka:9092',
      KAFKA_REPLICATION: '1',
      KAFKA_PARTITIONS: '12',
    })
    expect(bundled.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')).toEqual([])
    const deployments = bundled.filter(({ kind }) => kind === 'Deployment')
    expect(deployments.map(({ spec }) => (spec as { replicas: number }).replicas)).toEqual(
      serviceNames.map(() => 1),
    )
    const own = renderChart({
      bundled: { enabled: true },
      postgresql: { url: 'postgres://db.example.com/waymark' },
    })
    expect(find(own, 'ConfigMap', 'waymark-config')).toMatchObject({
      data: { DATABASE_URL: 'postgres://db.example.com/waymark', REDIS_URL: 'redis://redis:6379' },
    })
  })
})

describe('an example of values', () => {
  const folder = path.join(CHART, 'examples')
  const examples = readdirSync(folder).map((file) => ({
    file,
    values: parse(readFileSync(path.join(folder, file), 'utf8')) as object,
  }))
  const schema = JSON.parse(readFileSync(path.join(CHART, 'values.schema.json'), 'utf8')) as object
  const fits = new Ajv({ strict: false }).compile(schema)

  it('is there for operators and for managed services', () => {
    expect(examples.map(({ file }) => file)).toEqual(['managed.yaml', 'operators.yaml'])
    expect(fits({ ...examples[0]?.values, kafka: { broker: 'misspelled' } })).toBe(false)
  })

  it.each(examples)('fits the schema: $file', ({ values }) => {
    expect(fits(values), JSON.stringify(fits.errors)).toBe(true)
  })

  it.skipIf(!withHelm).each(examples)('leaves nothing missing: $file', async ({ values }) => {
    const objects = renderChart(values)
    expect(await schemaProblems(objects)).toEqual([])
    const { data } = find(objects, 'ConfigMap', 'waymark-config') as unknown as {
      data: Record<string, string>
    }
    for (const name of [
      'PUBLIC_URL',
      'MAIL_FROM',
      'KAFKA_BROKERS',
      'DATABASE_URL',
      'REDIS_URL',
      'CLICKHOUSE_URL',
    ])
      expect(data[name], name).toMatch(/./)
    expect(data).toMatchObject({ KAFKA_TLS: 'true', DATABASE_TLS_MODE: 'verify-full' })
  })
})

describe.skipIf(!withHelm)('a demo', () => {
  it('is bundled servers, an account and an address', () => {
    const demo = renderChart({ demo: { enabled: true } })
    const kinds = (objects: readonly KubernetesObject[]) =>
      objects.map(({ kind, metadata: { name } }) => `${kind}/${name.replace(/-[\da-f]{8}$/, '')}`).toSorted()
    expect(kinds(demo)).toEqual(
      kinds(renderChart({ bundled: { enabled: true }, account: { email: 'ann@shop.example' } })),
    )
    expect(find(demo, 'ConfigMap', 'waymark-config')).toMatchObject({
      data: { PUBLIC_URL: 'http://localhost:8081' },
    })
    expect(JSON.stringify(find(demo, 'Job', 'account'))).toContain('demo@example.com')
  })

  it('keeps what other values say', () => {
    const own = renderChart({
      demo: { enabled: true },
      account: { email: 'ann@shop.example' },
      ingress: { host: 'waymark.shop.example' },
    })
    expect(JSON.stringify(find(own, 'Job', 'account'))).toContain('ann@shop.example')
    expect(find(own, 'ConfigMap', 'waymark-config')).toMatchObject({
      data: { PUBLIC_URL: 'http://waymark.shop.example' },
    })
  })
})

describe.skipIf(!withHelm)('the Helm chart without values', () => {
  const objects = withHelm ? renderChart() : []

  it('passes helm lint', () => {
    execFileSync('helm', ['lint', '--strict', CHART], { stdio: 'pipe' })
    expect(helm(['lint', '--strict', CHART], EVERYTHING)).toContain('0 chart(s) failed')
  })

  it('gives the objects of the kustomize base and the policies for servers of overlays/production', () => {
    const policies = objectsIn(
      readFileSync(path.join(ROOT, 'deploy/k8s/overlays/production/network-policies.yaml'), 'utf8'),
    )
    const servers = ['stores', 'clickhouse'].map((name) => find(objects, 'NetworkPolicy', name))
    expect(servers.map(({ spec }) => spec)).toEqual(policies.map(({ spec }) => spec))
    const others = objects.filter((object) => !servers.includes(object))
    const base = comparable(objectsIn(readFileSync(CHART_BASE, 'utf8')))
    expect(Object.keys(base).filter((name) => name.startsWith('Deployment')).length).toBe(serviceNames.length)
    expect(comparable(others)).toEqual(base)
  })
})

describe.skipIf(!withHelm)('the values of the Helm chart', () => {
  const objects = withHelm ? renderChart(EVERYTHING) : []
  const workloads = workloadsOf(objects)
  const workload = (name: string) => {
    const found = workloads.find((one) => one.labels['app.kubernetes.io/name'] === name)
    if (!found) throw new Error(`There is no workload ${name}`)
    return found
  }

  it('give objects that are valid for the API, with restricted pods', async () => {
    expect(await schemaProblems(objects)).toEqual([])
    expect(unknownFields(objects)).toEqual([])
    expect(workloads.flatMap(restrictedProblems)).toEqual([])
  })

  it('select images by registry, tag and digest', () => {
    const imageOf = (name: string) => workload(name).pod.containers[0]?.image
    expect(imageOf('coupon-service')).toBe('registry.example.com/shop/waymark-coupon-service:1.2.3')
    expect(imageOf('migrate')).toBe('registry.example.com/shop/waymark-setup:1.2.3')
    expect(imageOf('ingest-gateway')).toBe(`registry.example.com/shop/waymark-ingest-gateway@${DIGEST}`)
    const pulled = objects.filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
    expect(JSON.stringify(pulled).match(/"imagePullPolicy":"Always"/g)).toHaveLength(workloads.length)
  })

  it('place pods', () => {
    expect(workloads).toHaveLength(serviceNames.length + 2)
    for (const { name, pod } of workloads) {
      expect(pod).toMatchObject({
        imagePullSecrets: EVERYTHING.imagePullSecrets,
        nodeSelector: EVERYTHING.nodeSelector,
        tolerations: EVERYTHING.tolerations,
        priorityClassName: name === 'coupon-service' ? 'high' : 'normal',
      })
    }
  })

  it('set the number and the size of pods', () => {
    expect(find(objects, 'HorizontalPodAutoscaler', 'ingest-gateway').spec).toMatchObject({
      minReplicas: 5,
      maxReplicas: 50,
      metrics: [{ resource: { target: { averageUtilization: 75 } } }],
    })
    expect(workload('ingest-gateway').replicas).toBeUndefined()
    expect(workload('coupon-service').replicas).toBe(4)
    expect(() => find(objects, 'HorizontalPodAutoscaler', 'coupon-service')).toThrow()
    // Maps are merged, so the other defaults stay.
    expect(workload('coupon-service').pod.containers[0]?.resources).toEqual({
      requests: { cpu: '250m', memory: '192Mi' },
      limits: { memory: '2Gi' },
    })
    expect(workload('migrate').pod.containers[0]?.resources?.limits).toEqual({ memory: '1Gi' })
  })

  it('name the servers, and a variable takes precedence', () => {
    expect(configOf(objects)).toEqual({
      ...configOf(renderChart()),
      PUBLIC_URL: 'https://waymark.example.com',
      SHORT_LINK_BASE_URL: 'https://waymark.example.com',
      MAIL_FROM: 'Shop <hello@shop.example>',
      LOG_LEVEL: 'debug',
      REGISTRATION_MODE: 'closed',
      KAFKA_BROKERS: 'kafka-0:9093,kafka-1:9093',
      KAFKA_TLS: 'true',
      KAFKA_TLS_CA_FILE: '/etc/waymark/tls/kafka-ca.crt',
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      DATABASE_URL: 'postgres://db.example.com:5432/waymark',
      DATABASE_TLS_MODE: 'verify-full',
      DATABASE_TLS_CA_FILE: '/etc/waymark/tls/postgres-ca.crt',
      REDIS_URL: 'rediss://redis.example.com:6379',
      CLICKHOUSE_URL: 'https://waymark@clickhouse.example.com:8443',
      CLICKHOUSE_TLS_CA_FILE: '/etc/waymark/tls/clickhouse-ca.crt',
    })
    const values = { publicUrl: 'https://shop.example', config: { SHORT_LINK_BASE_URL: 'https://s.example' } }
    expect(configOf(renderChart(values))).toMatchObject({
      PUBLIC_URL: 'https://shop.example',
      SHORT_LINK_BASE_URL: 'https://s.example',
    })
  })

  it('name existing Secrets', () => {
    for (const { name, labels, pod } of workloads) {
      const [secrets, tls] = pod.volumes ?? []
      const names = secrets?.projected?.sources.map(({ secret }) => secret?.name)
      expect(names).toContain('shop-connections')
      expect(names).not.toContain('waymark-connections')
      if (labels['app.kubernetes.io/component'] !== 'setup') expect(names).toContain(`shop-role-${name}`)
      expect(tls).toEqual({ name: 'tls', secret: { secretName: 'authorities' } })
      expect(pod.containers[0]?.volumeMounts).toContainEqual({
        name: 'tls',
        mountPath: '/etc/waymark/tls',
        readOnly: true,
      })
    }
    expect(JSON.stringify(workload('migrate').pod)).toContain('"waymark-setup"')
    expect(kindsOf(objects)).not.toContain('Secret')
  })

  it('configure the Ingress, or leave it out', () => {
    const { metadata, spec } = find(objects, 'Ingress', 'waymark')
    expect(spec).toMatchObject({
      ingressClassName: 'nginx',
      rules: [{ host: 'waymark.example.com' }],
      tls: [{ hosts: ['waymark.example.com'], secretName: 'certificate' }],
    })
    expect(metadata.annotations).toMatchObject({
      'cert-manager.io/cluster-issuer': 'letsencrypt',
      'nginx.ingress.kubernetes.io/proxy-body-size': '12m',
    })
    expect(kindsOf(renderChart({ ingress: { enabled: false } }))).not.toContain('Ingress')
    expect(configOf(renderChart({ ingress: { host: 'waymark.test' } })).PUBLIC_URL).toBe(
      'http://waymark.test',
    )
  })

  it('configure the network policies, or leave them out', () => {
    const policy = (name: string) => JSON.stringify(find(objects, 'NetworkPolicy', name).spec)
    expect(policy('ingress')).toContain('"kubernetes.io/metadata.name":"edge"')
    expect(policy('metrics')).toContain('"kubernetes.io/metadata.name":"prometheus"')
    expect(find(objects, 'NetworkPolicy', 'stores').spec).toMatchObject({
      egress: [
        {
          to: [{ ipBlock: { cidr: '192.0.2.0/24' } }, { ipBlock: { cidr: '2001:db8::/32' } }],
          ports: [{ protocol: 'TCP', port: 6432 }],
        },
      ],
    })
    expect(policy('clickhouse')).toContain('198.51.100.7/32')
    expect(find(objects, 'NetworkPolicy', 'mail').spec).toMatchObject({
      egress: [{ to: [{ ipBlock: { cidr: '203.0.113.25/32' } }], ports: [{ protocol: 'TCP', port: 2587 }] }],
    })
    expect(find(objects, 'NetworkPolicy', 'archive').spec).toMatchObject({
      egress: [{ to: [{ ipBlock: { cidr: '203.0.113.43/32' } }], ports: [{ protocol: 'TCP', port: 9000 }] }],
    })
    expect(kindsOf(renderChart({ networkPolicies: { enabled: false } }))).not.toContain('NetworkPolicy')
    // A policy without addresses would allow all of them.
    const none = { networkPolicies: { stores: { cidrs: [] }, clickhouse: { cidrs: [] } } }
    const names = renderChart(none).map(({ metadata }) => metadata.name)
    expect(names).toContain('default-deny')
    expect(names).not.toContain('stores')
    expect(names).not.toContain('clickhouse')
  })

  it('create the first account when the chart is installed, and not by an upgrade', () => {
    const account = { email: 'ann@shop.example', name: 'Ann' }
    const jobOf = (objects: readonly KubernetesObject[]) =>
      objects.find(({ kind, metadata }) => kind === 'Job' && metadata.name === 'account')
    expect(jobOf(renderChart())).toBeUndefined()
    const [workload] = workloadsOf([jobOf(renderChart({ account }))].flatMap((job) => job ?? []))
    expect(workload?.pod.containers[0]).toMatchObject({
      args: ['account'],
      env: expect.arrayContaining([
        { name: 'ACCOUNT_EMAIL', value: 'ann@shop.example' },
        { name: 'ACCOUNT_NAME', value: 'Ann' },
      ]),
    })
    const upgraded = helm(['template', 'waymark', CHART, '--namespace', 'waymark', '--is-upgrade'], {
      account,
    })
    expect(jobOf(objectsIn(upgraded))).toBeUndefined()
    expect(() => renderChart({ account: { email: 'ann' } })).toThrow('account')
  })

  it('tell in the notes where the console is, how to sign in, and what is missing', () => {
    const notes = (values: object): string =>
      helm(['install', 'waymark', CHART, '--namespace', 'waymark', '--dry-run=client'], values)
    const complete = notes({
      mail: { from: 'a@shop.example' },
      account: { email: 'ann@shop.example' },
      ingress: { host: 'waymark.example.com', tls: { enabled: true } },
    })
    expect(complete).toContain('Console: https://waymark.example.com/console/')
    expect(complete).toContain('logs job/account')
    expect(complete).not.toContain('MISSING')
    const bare = notes({ ingress: { enabled: false } })
    expect(bare).toContain('port-forward service/management-api 8081:80')
    expect(bare).toContain('No account was created')
    expect(bare).toContain('MISSING: MAIL_FROM')
  })

  it('restart pods and rename the Jobs when the configuration changes', () => {
    const [before, same, after] = ['info', 'info', 'warn'].map((LOG_LEVEL) =>
      renderChartAnew({ config: { LOG_LEVEL } }),
    ) as [readonly KubernetesObject[], readonly KubernetesObject[], readonly KubernetesObject[]]
    const template = (rendered: readonly KubernetesObject[]) =>
      (find(rendered, 'Deployment', 'email-consumer').spec as { template: object }).template
    expect(template(same)).toEqual(template(before))
    expect(template(after)).not.toEqual(template(before))
    expect(jobsOf(before)).toEqual([
      expect.stringMatching(/^migrate-[0-9a-f]{8}$/),
      expect.stringMatching(/^topics-[0-9a-f]{8}$/),
    ])
    expect(jobsOf(same)).toEqual(jobsOf(before))
    for (const name of jobsOf(after)) expect(jobsOf(before)).not.toContain(name)
  })

  it('include those of the example in the README', () => {
    const text = readFileSync(path.join(CHART, 'README.md'), 'utf8')
    const example = parse(/```yaml\n(.*?)```/s.exec(text)?.[1] ?? '') as object
    expect(configOf(renderChart(example))).toMatchObject({
      PUBLIC_URL: 'https://waymark.example.com',
      KAFKA_TLS_CA_FILE: '/etc/waymark/tls/kafka-ca.crt',
      DATABASE_URL: 'postgres://db.example.com:5432/waymark',
    })
  })

  it.each([
    ['an unknown field', { imagePullSecret: 'x' }, /imagePullSecret/],
    ['an unknown app', { apps: { gateway: { replicas: 2 } } }, /apps.*gateway/s],
    ['a variable that is no text', { config: { DATABASE_POOL_SIZE: 8 } }, /DATABASE_POOL_SIZE.*string/s],
    ['a password', { postgresql: { url: 'postgres://a:b@db/waymark' } }, /postgresql.*url.*pattern/s],
    ['a digest that is none', { image: { digests: { setup: 'latest' } } }, /digests.*setup.*pattern/s],
    ['no ports', { networkPolicies: { stores: { ports: [] } } }, /stores.*ports.*minItems/s],
    ['TLS without a host', { ingress: { tls: { enabled: true } } }, /ingress\.tls needs ingress\.host/],
  ])('refuse %s', (_, values, message) => {
    expect(() => renderChart(values)).toThrow(message)
  })
})
