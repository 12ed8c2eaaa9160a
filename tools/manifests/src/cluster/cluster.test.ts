import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { KubernetesObject } from '../render.ts'
import { missingPriorityClasses } from './api-checks.ts'
import { nginxConfig } from './ingress.ts'
import { goModuleOf } from './kubernetes-build.ts'
import { request, startLoad, summaryOf } from './load.ts'
import { hostsOf } from './node.ts'
import { imagesOf, inNamespace, isServed, podsOf, volumesFor, withImages, withSettings } from './objects.ts'
import { run, until } from './run.ts'

const aDeployment: KubernetesObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'ingest-gateway', namespace: 'waymark' },
  spec: {
    template: {
      metadata: { labels: { app: 'ingest-gateway' } },
      spec: {
        containers: [{ name: 'app', image: 'waymark/ingest-gateway:1.0.0' }],
        volumes: [{ name: 'secrets' }],
      },
    },
  },
}
const aStatefulSet: KubernetesObject = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'postgres', namespace: 'waymark' },
  spec: {
    template: {
      metadata: { labels: {} },
      spec: { containers: [{ name: 'postgres', image: 'postgres:15' }] },
    },
    volumeClaimTemplates: [
      { metadata: { name: 'data' }, spec: { resources: { requests: { storage: '5Gi' } } } },
    ],
  },
}

describe('isolate.sh', () => {
  it('removes the control groups of its pods, and not those of another kubelet', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'isolate-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const groups = path.join(folder, 'cgroup/cpu/kubepods')
    mkdirSync(path.join(groups, 'besteffort'), { recursive: true })
    const own = path.join(groups, 'burstable/pod1')
    const script = path.resolve(import.meta.dirname, '../../isolate.sh')
    const env = { ...process.env, CGROUPS: path.join(folder, 'cgroup') }
    // Only root can isolate the command; the groups are removed in any case.
    spawnSync(script, [path.join(folder, 'run'), 'mkdir', '-p', own], { env, stdio: 'ignore' })
    expect(existsSync(path.join(groups, 'burstable'))).toBe(false)
    expect(existsSync(path.join(groups, 'besteffort'))).toBe(true)
  })
})

describe('goModuleOf', () => {
  it('takes the other modules of Kubernetes from their own releases', () => {
    const own = [
      'module k8s.io/kubernetes',
      '',
      'go 1.24.0',
      '',
      'require k8s.io/api v0.0.0',
      '',
      'replace (',
      '\tk8s.io/api => ./staging/src/k8s.io/api',
      '\tk8s.io/client-go => ./staging/src/k8s.io/client-go',
      ')',
    ]
    expect(goModuleOf(own.join('\n'), 'v1.34.4').split('\n')).toEqual([
      'module cluster',
      '',
      'go 1.24.0',
      '',
      'require k8s.io/kubernetes v1.34.4',
      '',
      'replace (',
      '\tk8s.io/api => k8s.io/api v0.34.4',
      '\tk8s.io/client-go => k8s.io/client-go v0.34.4',
      ')',
      '',
    ])
  })

  it('refuses a go.mod that names no other modules', () => {
    expect(() => goModuleOf('module k8s.io/kubernetes\n', 'v1.34.4')).toThrow('replaces no modules')
  })
})

describe('the objects of a cluster', () => {
  it('move to another namespace with their subjects', () => {
    const binding: KubernetesObject = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'demo', namespace: 'waymark' },
      subjects: [{ kind: 'ServiceAccount', name: 'demo', namespace: 'waymark' }],
    }
    const namespace: KubernetesObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'waymark' } }
    const priority: KubernetesObject = {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'waymark' },
    }
    expect(inNamespace([binding, namespace, priority], 'other')).toEqual([
      {
        ...binding,
        metadata: { name: 'demo', namespace: 'other' },
        subjects: [{ kind: 'ServiceAccount', name: 'demo', namespace: 'other' }],
      },
      { ...namespace, metadata: { name: 'other' } },
      priority,
    ])
  })

  it('leave the PriorityClasses of the cluster as they are', async () => {
    const [own, foreign] = ['waymark-apps', 'waymark-servers'].map((name) => ({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name },
    })) as [KubernetesObject, KubernetesObject]
    const cluster = {
      exists: async (kind: string, name: string) =>
        kind === 'priorityclass' && name === foreign.metadata.name,
    }
    expect(await missingPriorityClasses(cluster, [own, aDeployment, foreign])).toEqual([own])
  })

  it('give the pods that controllers would create', () => {
    const [gateway, database, ...more] = podsOf([aDeployment, aStatefulSet])
    expect(more).toEqual([])
    expect(gateway).toMatchObject({
      kind: 'Pod',
      metadata: {
        name: 'deployment-ingest-gateway',
        namespace: 'waymark',
        labels: { app: 'ingest-gateway' },
      },
      spec: { containers: [{ image: 'waymark/ingest-gateway:1.0.0' }], volumes: [{ name: 'secrets' }] },
    })
    expect(database?.spec).toMatchObject({ volumes: [{ name: 'data', emptyDir: {} }] })
  })

  it('take the images of Waymark from another registry', () => {
    const moved = withImages([aDeployment, aStatefulSet], 'registry.example.com/shop/')
    expect(imagesOf(moved)).toEqual(['registry.example.com/shop/ingest-gateway:1.0.0', 'postgres:15'])
  })

  it('get a volume for each claim', () => {
    expect(volumesFor([aDeployment, aStatefulSet], '/volumes')).toMatchObject([
      {
        metadata: { name: 'postgres' },
        spec: {
          capacity: { storage: '5Gi' },
          hostPath: { path: '/volumes/postgres' },
          claimRef: { namespace: 'waymark', name: 'data-postgres-0' },
        },
      },
    ])
  })

  it('get settings in the ConfigMap of the services only', () => {
    const config = (name: string): KubernetesObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: { LOG_LEVEL: 'info' },
    })
    const [own, other] = withSettings([config('waymark-config-abc'), config('other')], { DRAIN_MS: '1' })
    expect(own?.data).toEqual({ LOG_LEVEL: 'info', DRAIN_MS: '1' })
    expect(other?.data).toEqual({ LOG_LEVEL: 'info' })
  })

  it('are left out when the API server does not serve their version', () => {
    expect(isServed(aDeployment, ['v1', 'apps/v1'])).toBe(true)
    expect(isServed(aDeployment, ['v1', 'apps/v2'])).toBe(false)
  })

  it('give names to Services with an address', () => {
    const service = (name: string, clusterIP: string) => ({
      metadata: { name, namespace: 'waymark' },
      spec: { clusterIP },
    })
    expect(hostsOf([service('kafka', '10.97.0.7'), service('headless', 'None')])).toBe(
      '10.97.0.7 kafka.waymark.svc.cluster.local\n',
    )
  })
})

describe('nginxConfig', () => {
  it('routes what the paths of the Ingress match', () => {
    const backend = (name: string) => ({ service: { name } })
    const ingress: KubernetesObject = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'waymark', annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '12m' } },
      spec: {
        rules: [
          {
            http: {
              paths: [
                { path: '/s', pathType: 'Prefix', backend: backend('links') },
                { path: '/batch', pathType: 'Exact', backend: backend('ingest') },
                { path: '/', pathType: 'Prefix', backend: backend('management') },
              ],
            },
          },
        ],
      },
    }
    const config = nginxConfig(ingress, (service) => `${service}:80`)
    expect(config.match(/location .*/g)).toEqual([
      'location = /s { proxy_pass http://links:80; }',
      'location /s/ { proxy_pass http://links:80; }',
      'location = /batch { proxy_pass http://ingest:80; }',
      'location / { proxy_pass http://management:80; }',
    ])
    expect(config).toContain('client_max_body_size 12m;')
  })
})

describe('startLoad', () => {
  it('counts answers with another status and requests without an answer', async () => {
    const server = createServer((incoming, answer) => {
      if (incoming.url === '/broken') incoming.socket.destroy()
      else answer.writeHead(incoming.url === '/fine' ? 202 : 503).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const target = (name: string) => ({ name, status: 202, call: () => request(`${url}/${name}`) })
    const called = new Set<string>()
    const noted = ['fine', 'refused', 'broken'].map(target).map((one) => ({
      ...one,
      call: () => {
        called.add(one.name)
        return one.call()
      },
    }))
    const load = startLoad(noted)
    await until('all targets are called', 10_000, async () => called.size === 3)
    const [fine, refused, broken] = await load.stop()
    expect(fine).toMatchObject({ name: 'fine', failures: [] })
    expect(new Set(refused?.failures)).toEqual(new Set(['status 503: ']))
    expect(broken?.failures.length).toBe(broken?.requests)
    expect(summaryOf({ name: 'one', requests: 2, failures: ['status 503'], slowestMs: 7 })).toBe(
      '2 requests, 1 failed (status 503), slowest 7 ms',
    )
  })
})

describe('run', () => {
  it('returns what a command prints about its input, and throws what it says about an error', async () => {
    expect(await run('cat', [], { input: 'hello' })).toBe('hello')
    await expect(run('ls', ['/no/such/folder'])).rejects.toThrow('/no/such/folder')
  })
})

describe('until', () => {
  it('throws with the last error when the time is over', async () => {
    const failing = until('it works', 10, async () => {
      throw new Error('not yet')
    })
    await expect(failing).rejects.toThrow('Not within 0.01 s: it works')
  })
})
