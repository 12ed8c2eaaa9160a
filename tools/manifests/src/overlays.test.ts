import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { schemaProblems, unknownFields } from './models.ts'
import { findKustomize, type KubernetesObject, render } from './render.ts'
import {
  type Container,
  mountedSecrets,
  restrictedProblems,
  type Workload,
  workloadsOf,
} from './workloads.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const SERVICES = readdirSync(path.join(ROOT, 'apps'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !['standalone', 'console', 'cli'].includes(entry.name))
  .map(({ name }) => name)
const CONSUMERS = SERVICES.filter((name) => name.endsWith('-consumer') || name === 'webhook-dispatcher')
const OVERLAYS = ['local', 'production', 'operators'] as const

const kustomize = findKustomize()
if (!kustomize) {
  if (process.env.CI)
    throw new Error('Neither kustomize nor kubectl is there, and in CI no test may be left out')
  process.stdout.write('Neither kustomize nor kubectl is there: the Kubernetes manifests are not checked.\n')
}

const named = (objects: readonly KubernetesObject[], kind: string): string[] =>
  objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name)

type IngressPath = { path: string; backend: { service: { name: string } } }
const ingressPaths = (objects: readonly KubernetesObject[]): IngressPath[] =>
  objects
    .filter(({ kind }) => kind === 'Ingress')
    .flatMap(({ spec }) => (spec as { rules: { http: { paths: IngressPath[] } }[] }).rules)
    .flatMap(({ http }) => http.paths)

describe.skipIf(!kustomize).each(OVERLAYS)('the overlay %s', (overlay) => {
  const objects = kustomize ? render(kustomize, `overlays/${overlay}`) : []
  const workloads = workloadsOf(objects)
  const apps = workloads.filter(({ kind }) => kind === 'Deployment')
  const ofWaymark = workloads.filter(({ podLabels }) => podLabels['app.kubernetes.io/component'] !== 'store')
  const containers = ofWaymark.flatMap(({ pod }) => pod.containers)
  const without = (has: (workload: Workload) => unknown) =>
    apps.filter((workload) => !has(workload)).map(({ name }) => name)

  it('is valid for the API', async () => {
    expect(await schemaProblems(objects)).toEqual([])
    expect(unknownFields(objects)).toEqual([])
  })

  it('has every service with its own service account', () => {
    expect(apps.map(({ name }) => name).sort()).toEqual(SERVICES.toSorted())
    expect(apps.map(({ pod }) => pod.serviceAccountName).sort()).toEqual(SERVICES.toSorted())
    for (const { name, pod } of apps) expect(pod.containers[0]?.image).toMatch(`waymark/${name}:`)
    expect(named(objects, 'Job')).toEqual(expect.arrayContaining(['migrate', 'topics']))
  })

  it('puts all objects into one namespace with restricted pods', () => {
    const elsewhere = objects.filter(
      ({ kind, metadata }) =>
        !['Namespace', 'PriorityClass'].includes(kind) && metadata.namespace !== 'waymark',
    )
    expect(elsewhere).toEqual([])
    const [namespace] = objects.filter(({ kind }) => kind === 'Namespace')
    expect(namespace?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' })
    expect(workloads.flatMap(restrictedProblems)).toEqual([])
    for (const { securityContext } of containers) expect(securityContext?.readOnlyRootFilesystem).toBe(true)
  })

  it('requests resources, and limits memory', () => {
    for (const { resources } of workloads.flatMap(({ pod }) => pod.containers)) {
      expect(resources?.requests).toMatchObject({ cpu: expect.anything(), memory: expect.anything() })
      expect(resources?.limits).toMatchObject({ memory: expect.anything() })
    }
  })

  it('has three probes for each service, of which readiness depends on no store', () => {
    for (const { pod } of apps) {
      const [app] = pod.containers
      expect(app?.startupProbe?.httpGet).toEqual({ path: '/healthz', port: 'http' })
      expect(app?.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'http' })
      expect(app?.livenessProbe?.httpGet).toEqual({ path: '/healthz', port: 'http' })
    }
  })

  it('allows for a slow start on a busy node', () => {
    const readiness = workloads
      .flatMap(({ pod }) => pod.containers)
      .flatMap((one) => one.readinessProbe ?? [])
    expect(readiness.length).toBeGreaterThanOrEqual(apps.length)
    for (const { timeoutSeconds } of readiness) expect(timeoutSeconds).toBe(5)
  })

  it('updates what a Service routes to without downtime, and other consumers without surplus pods', () => {
    const answering = objects
      .filter(({ kind }) => kind === 'Service')
      .map(({ spec }) => (spec as { selector: Record<string, string> }).selector['app.kubernetes.io/name'])
    expect(answering).toContain('email-consumer')
    for (const { name, strategyType, rollingUpdate, pod } of apps) {
      expect(pod.terminationGracePeriodSeconds).toBe(45)
      // An old one must not take over what a new one has claimed.
      if (name === 'persistence-consumer')
        expect([strategyType, rollingUpdate]).toEqual(['Recreate', undefined])
      else if (!answering.includes(name)) expect(rollingUpdate).toEqual({ maxSurge: 0, maxUnavailable: 1 })
      else {
        expect(rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
        expect(pod.containers[0]?.lifecycle?.preStop?.exec?.command).toEqual(['sleep', '10'])
      }
    }
  })

  it('allows one unavailable pod at a time, and spreads pods', () => {
    expect(named(objects, 'PodDisruptionBudget').sort()).toEqual(SERVICES.toSorted())
    expect(without(({ pod }) => pod.topologySpreadConstraints?.length === 2)).toEqual([])
  })

  it('has at most one autoscaler for each workload', () => {
    expect(without(({ replicas }) => replicas === undefined)).toEqual([])
    const byCpu = named(objects, 'HorizontalPodAutoscaler')
    const byLag = named(objects, 'ScaledObject')
    const expected = { local: [], production: SERVICES, operators: SERVICES }[overlay]
    expect([...byCpu, ...byLag].sort()).toEqual(expected.toSorted())
    expect(byLag.sort()).toEqual(overlay === 'operators' ? CONSUMERS.toSorted() : [])
  })

  it('refers to existing configuration only, and has no Secret', () => {
    const configMaps = named(objects, 'ConfigMap')
    // A password in a manifest would be the same everywhere. KEDA's Secret only configures the authentication.
    expect(named(objects, 'Secret')).toEqual(overlay === 'operators' ? ['waymark-keda'] : [])
    for (const { envFrom = [] } of containers) {
      expect(envFrom.length).toBe(1)
      expect(configMaps).toContain(envFrom[0]?.configMapRef?.name)
    }
  })

  it('reads secrets from files, and none from the environment', () => {
    for (const { name, pod } of ofWaymark) {
      const { env = [], volumeMounts = [] } = pod.containers[0] ?? {}
      expect([name, env.filter(({ valueFrom }) => valueFrom)]).toEqual([name, []])
      const directory = env.find((one) => one.name === 'SECRETS_DIR')?.value
      expect(volumeMounts).toContainEqual({ name: 'secrets', mountPath: directory, readOnly: true })
      // The user of the process belongs to the group of the files.
      expect(pod.securityContext).toMatchObject({ runAsUser: 10_001, fsGroup: 10_001 })
    }
  })

  it('gives each workload the secrets that it uses, and no others', () => {
    const connection = (...keys: string[]) => keys.map((key) => `waymark-connections/${key}`)
    const ofStores = connection(
      'DATABASE_URL',
      'REDIS_URL',
      'REDIS_USERNAME',
      'REDIS_PASSWORD',
      'REDIS_SENTINEL_PASSWORD',
      'KAFKA_BROKERS',
      'KAFKA_SASL_USERNAME',
      'KAFKA_SASL_PASSWORD',
      'OTEL_EXPORTER_OTLP_HEADERS',
    )
    const ofClickHouse = [...connection('CLICKHOUSE_URL'), 'waymark-clickhouse/CLICKHOUSE_PASSWORD']
    const more: Record<string, string[]> = {
      'ingest-gateway': ofClickHouse,
      'management-api': [...ofClickHouse, ...connection('ERASURE_SECRET')],
      'persistence-consumer': [
        ...ofClickHouse,
        ...connection('ARCHIVE_S3_ACCESS_KEY_ID', 'ARCHIVE_S3_SECRET_ACCESS_KEY'),
      ],
      'email-consumer': connection('SMTP_URL', 'MAIL_SECRET'),
    }
    const ofJobs: Record<string, string[]> = {
      migrate: [...connection('DATABASE_URL'), ...ofClickHouse, 'waymark-setup/*'],
      topics: connection('KAFKA_BROKERS', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'),
      demo: [
        ...connection('DATABASE_URL'),
        'waymark-setup/DATABASE_PASSWORD',
        'waymark-setup/DATABASE_USERNAME',
      ],
    }
    for (const { name, pod } of ofWaymark) {
      const role = ['USERNAME', 'PASSWORD'].map((key) => `waymark-database-${name}/DATABASE_${key}`)
      const expected = ofJobs[name] ?? [...ofStores, ...role, ...(more[name] ?? [])]
      expect([name, mountedSecrets(pod).toSorted()]).toEqual([name, expected.toSorted()])
    }
  })

  it("gives the owner's password only to Jobs", () => {
    const readers = ofWaymark.filter(({ pod }) =>
      /"(waymark-setup|waymark-db-app)"/.test(JSON.stringify(pod)),
    )
    expect([...new Set(readers.map(({ kind }) => kind))]).toEqual(['Job'])
  })

  it('has Jobs that Argo CD and Flux replace', () => {
    const jobs = objects.filter(({ kind }) => kind === 'Job')
    expect(jobs.length).toBeGreaterThanOrEqual(2)
    for (const { metadata } of jobs)
      expect(metadata.annotations).toEqual({
        'argocd.argoproj.io/hook': 'Sync',
        'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
        'kustomize.toolkit.fluxcd.io/force': 'enabled',
      })
  })

  it('lets pods that are not ready be evicted, and gives pods their priority and the secret of the registry', () => {
    for (const { kind, spec } of objects)
      if (kind === 'PodDisruptionBudget')
        expect(spec).toMatchObject({ unhealthyPodEvictionPolicy: 'AlwaysAllow' })
    if (overlay === 'local') return
    const classes = named(objects, 'PriorityClass')
    for (const { name, pod } of ofWaymark) {
      expect(pod.priorityClassName).toBe(name === 'ingest-gateway' ? 'waymark-ingest' : 'waymark')
      expect(classes).toContain(pod.priorityClassName)
      expect(pod.imagePullSecrets).toEqual([{ name: 'waymark-registry' }])
    }
  })

  it('has an Ingress with TLS, host and class', () => {
    if (overlay === 'local') return
    type Ingress = { ingressClassName: string; tls: { hosts: string[] }[]; rules: { host: string }[] }
    const [ingress] = objects.filter(({ kind }) => kind === 'Ingress').map(({ spec }) => spec as Ingress)
    expect(ingress?.ingressClassName).toBe('nginx')
    expect(ingress?.rules.map(({ host }) => host)).toEqual(ingress?.tls.flatMap(({ hosts }) => hosts))
  })

  it('mounts existing volumes that contain its certificates', () => {
    const config = objects.find(({ kind }) => kind === 'ConfigMap')
    const files = Object.values((config?.data ?? {}) as Record<string, string>).filter((value) =>
      value.startsWith('/etc/'),
    )
    for (const { pod } of ofWaymark) {
      const mounts = pod.containers.flatMap(({ volumeMounts = [] }) => volumeMounts)
      const volumes = (pod.volumes ?? []).map(({ name }) => name)
      expect(mounts.filter(({ name }) => !volumes.includes(name))).toEqual([])
      const missing = files.filter(
        (file) => !mounts.some(({ mountPath }) => file.startsWith(`${mountPath}/`)),
      )
      expect(missing).toEqual([])
    }
    expect(files.length > 0).toBe(overlay !== 'local')
  })

  it('denies all traffic that no policy allows', () => {
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy')
    const deny = policies.find(({ metadata }) => metadata.name === 'default-deny')
    expect(deny?.spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
  })

  it('routes every public path to an existing Service, and none to /internal', () => {
    const paths = ingressPaths(objects)
    const services = named(objects, 'Service')
    expect(paths.filter(({ backend }) => !services.includes(backend.service.name))).toEqual([])
    expect(paths.filter(({ path: prefix }) => prefix.startsWith('/internal'))).toEqual([])
    const serviceFor = (requested: string): string | undefined =>
      paths
        .filter(
          ({ path: prefix }) => prefix === '/' || requested === prefix || requested.startsWith(`${prefix}/`),
        )
        .toSorted((one, other) => other.path.length - one.path.length)[0]?.backend.service.name
    expect(serviceFor('/s/abc')).toBe('link-redirector')
    expect(serviceFor('/api/v1/t')).toBe('ingest-gateway')
    for (const segment of [
      '/v1/batch',
      '/v1/t',
      '/v1/projects/key/settings',
      '/batch',
      '/import',
      '/sourceConfig/',
      '/beacon/v1/batch',
      '/batch/',
      '/capture/',
      '/e/',
      '/i/v0/e/',
      '/array/key/config',
    ])
      expect(serviceFor(segment)).toBe('ingest-gateway')
    expect(serviceFor('/console/')).toBe('management-api')
    expect(serviceFor('/api/v1/coupons/redeem')).toBe('coupon-service')
    expect(serviceFor('/api/v1/promotions/qualify')).toBe('coupon-service')
    expect(serviceFor('/api/v1/decide')).toBe('decision-service')
    expect(serviceFor('/flags/')).toBe('decision-service')
    expect(serviceFor('/decide/')).toBe('decision-service')
    expect(serviceFor('/ofrep/v1/evaluate/flags')).toBe('decision-service')
    expect(serviceFor('/u/token')).toBe('email-consumer')
    expect(serviceFor('/webhooks/email/bounce')).toBe('email-consumer')
    expect(serviceFor('/api/projects')).toBe('management-api')
    // The management API answers these paths with 404.
    expect(serviceFor('/internal/backfill/events')).toBe('management-api')
    expect(services).toContain('ingest-internal')
  })

  it('accepts bodies as large as the proxy of Docker Compose', () => {
    const [ingress] = objects.filter(({ kind }) => kind === 'Ingress')
    const proxy = readFileSync(path.join(ROOT, 'deploy/docker/nginx.conf'), 'utf8')
    expect(ingress?.metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-body-size']).toBe(
      /client_max_body_size (\w+);/.exec(proxy)?.[1],
    )
  })
})

describe.skipIf(!kustomize)('the servers of operators', () => {
  type Template = Record<
    string,
    { securityContext?: Container['securityContext'] & { runAsNonRoot?: boolean } }
  >
  type Strimzi = {
    template?: Template
    entityOperator?: { template?: Template }
    kafkaExporter?: { template?: Template }
  }

  type Altinity = {
    templates: {
      podTemplates: {
        spec: {
          securityContext: { runAsNonRoot?: boolean; seccompProfile?: object }
          containers: { securityContext?: object }[]
        }
      }[]
    }
  }

  it('run in pods that the namespace allows', () => {
    const specs = (kustomize ? render(kustomize, 'overlays/operators') : [])
      .filter(({ apiVersion, kind }) => apiVersion.startsWith('kafka.strimzi.io/') && kind !== 'KafkaUser')
      .map(({ spec }) => spec as Strimzi)
    const ofStrimzi = specs.flatMap(({ template, entityOperator, kafkaExporter }) =>
      Object.entries({ ...template, ...entityOperator?.template, ...kafkaExporter?.template })
        .filter(([part]) => part !== 'pod')
        .map(([, { securityContext }]) => securityContext),
    )
    const pods = (kustomize ? render(kustomize, 'overlays/operators') : [])
      .filter(({ apiVersion }) => /^clickhouse(-keeper)?\.altinity\.com\//.test(apiVersion))
      .flatMap(({ spec }) => (spec as Altinity).templates.podTemplates)
    const ofAltinity = pods.flatMap(({ spec: { securityContext, containers } }) =>
      containers.map((container) => {
        const { runAsNonRoot, seccompProfile } = securityContext
        return { ...container.securityContext, runAsNonRoot, seccompProfile }
      }),
    )
    const contexts = [...ofStrimzi, ...ofAltinity]
    expect(contexts.length).toBe(6)
    for (const context of contexts)
      expect(context).toEqual({
        allowPrivilegeEscalation: false,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      })
  })
})

describe.skipIf(!kustomize)('the stores of operators', () => {
  const objects = kustomize ? render(kustomize, 'overlays/operators') : []
  const specOf = (kind: string) => objects.find((object) => object.kind === kind)?.spec

  it('archive WAL of PostgreSQL within a minute, and back it up every day', () => {
    const [store] = named(objects, 'ObjectStore')
    expect(specOf('Cluster')).toMatchObject({
      plugins: [
        {
          name: 'barman-cloud.cloudnative-pg.io',
          isWALArchiver: true,
          parameters: { barmanObjectName: store },
        },
      ],
      postgresql: { parameters: { archive_timeout: '60s' }, synchronous: { number: 1 } },
    })
    const [cluster] = named(objects, 'Cluster')
    expect(specOf('ScheduledBackup')).toMatchObject({
      schedule: '0 0 2 * * *',
      cluster: { name: cluster },
      method: 'plugin',
      pluginConfiguration: { name: 'barman-cloud.cloudnative-pg.io' },
    })
  })

  it('have volumes for 100 events a second, which docs/sizing.md calculates', () => {
    const gigabytes = (size: string): number => (Number.parseInt(size, 10) * 1024 ** 3) / 1e9
    const { storage } = specOf('Cluster') as { storage: { size: string } }
    const pool = specOf('KafkaNodePool') as { storage: { volumes: { size: string }[] } }
    const { templates } = specOf('ClickHouseInstallation') as {
      templates: { volumeClaimTemplates: { spec: { resources: { requests: { storage: string } } } }[] }
    }
    const config = objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && /^waymark-config/.test(metadata.name),
    )?.data as Record<string, string>
    const kafka = Number(config.KAFKA_RETENTION_BYTES) * Number(config.KAFKA_PARTITIONS) * 2
    const day = 86_400 * 100
    const volumes: [string, string, number][] = [
      ['strimzi', pool.storage.volumes[0]?.size ?? '', Math.max(kafka, 780 * 7 * day)],
      ['cloudnative-pg', storage.size, 140 * 330 * day],
      [
        'clickhouse',
        templates.volumeClaimTemplates[0]?.spec.resources.requests.storage ?? '',
        95 * 365 * day,
      ],
    ]
    const docs = readFileSync(path.join(ROOT, 'docs/sizing.md'), 'utf8')
    for (const [component, size, bytes] of volumes) {
      expect(gigabytes(size) * 0.8).toBeGreaterThanOrEqual(bytes / 1e9)
      expect(docs).toMatch(new RegExp(`^\\| \`${component}\`, 3 \\w+ \\| ${size}`, 'm'))
    }
  })

  it('stay longer than the services when a node lacks room', () => {
    const priorityClassName = 'waymark-stores'
    expect(specOf('KafkaNodePool')).toMatchObject({ template: { pod: { priorityClassName } } })
    expect(specOf('Cluster')).toMatchObject({ priorityClassName })
    for (const kind of ['ClickHouseInstallation', 'ClickHouseKeeperInstallation'])
      expect(specOf(kind)).toMatchObject({ templates: { podTemplates: [{ spec: { priorityClassName } }] } })
    const priorityOf = (name: string): number =>
      objects.find(({ kind, metadata }) => kind === 'PriorityClass' && metadata.name === name)
        ?.value as number
    expect(priorityOf('waymark-stores')).toBeGreaterThan(priorityOf('waymark-ingest'))
    expect(priorityOf('waymark-ingest')).toBeGreaterThan(priorityOf('waymark'))
  })

  it('put brokers on different nodes and zones', () => {
    expect(specOf('Kafka')).toMatchObject({ kafka: { rack: { topologyKey: 'topology.kubernetes.io/zone' } } })
    expect(specOf('KafkaNodePool')).toMatchObject({
      template: {
        pod: {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }],
            },
          },
        },
      },
    })
  })
})

describe.skipIf(!kustomize)('the component clickhouse-tls', () => {
  const objects = kustomize ? render(kustomize, 'overlays/operators') : []

  it('lets servers and services use the Secret waymark-clickhouse-tls', () => {
    const secret = { secretName: 'waymark-clickhouse-tls' }
    const servers = objects.find(({ kind }) => kind === 'ClickHouseInstallation')
    expect(servers?.spec).toMatchObject({
      configuration: {
        settings: { https_port: 8443 },
        files: { 'openssl.xml': expect.stringContaining('/etc/clickhouse-server/tls/tls.key') },
      },
      templates: {
        serviceTemplates: [
          { spec: { ports: expect.arrayContaining([expect.objectContaining({ port: 8443 })]) } },
        ],
        podTemplates: [
          {
            spec: {
              containers: [{ volumeMounts: [{ name: 'tls', mountPath: '/etc/clickhouse-server/tls' }] }],
              volumes: [{ name: 'tls', secret }],
            },
          },
        ],
      },
    })
    const config = objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('waymark-config'),
    ) as unknown as { data: Record<string, string> }
    expect(config.data).toMatchObject({
      CLICKHOUSE_URL: 'https://waymark@clickhouse-waymark:8443',
      CLICKHOUSE_TLS_CA_FILE: '/etc/waymark/clickhouse/ca.crt',
    })
    const migrate = workloadsOf(objects).find(({ name }) => name === 'migrate')
    expect(migrate?.pod).toMatchObject({
      volumes: expect.arrayContaining([
        {
          name: 'clickhouse-ca',
          secret: expect.objectContaining({ ...secret, items: [{ key: 'ca.crt', path: 'ca.crt' }] }),
        },
      ]),
    })
  })
})

describe('docker-compose.yml', () => {
  type Compose = { services: Record<string, { image: string }> }
  const { services } = parse(readFileSync(path.join(ROOT, 'docker-compose.yml'), 'utf8'), {
    merge: true,
  }) as Compose

  it('has every service', () => {
    expect(Object.keys(services)).toEqual(expect.arrayContaining([...SERVICES, 'setup', 'demo', 'proxy']))
  })

  it.skipIf(!kustomize)('names the same images of servers as the local overlay', () => {
    const stores = workloadsOf(kustomize ? render(kustomize, 'overlays/local') : [])
      .filter(({ kind }) => kind === 'StatefulSet')
      .map(({ name, pod }) => [name, pod.containers[0]?.image])
    expect(stores.length).toBe(5)
    for (const [name, image] of stores) expect(services[`${name}`]?.image).toBe(image)
  })
})
