import type { KubernetesObject } from '../render.ts'
import type { Cluster } from './kubectl.ts'
import { request } from './load.ts'
import { until } from './run.ts'

const NAMESPACE = 'waymark-ingress'
/** The port that `overlays/local` names in its public addresses. */
const PORT = 8080
const READY_MS = 120_000

/** An address of a Service by its name. */
type AddressOf = (service: string) => string
type IngressPath = { path: string; pathType: string; backend: { service: { name: string } } }

/** The paths of an Ingress. */
const pathsOf = ({ spec }: KubernetesObject): IngressPath[] =>
  (spec as { rules: { http: { paths: IngressPath[] } }[] }).rules.flatMap(({ http }) => http.paths)

/** The `location`s of nginx that match what a path of an Ingress matches. */
const locationsOf = ({ path, pathType }: IngressPath): string[] => {
  if (pathType === 'Exact') return [`= ${path}`]
  return path === '/' ? ['/'] : [`= ${path}`, `${path}/`]
}

/** A configuration of nginx with the rules of an Ingress. It repeats no request that a service did not answer. */
export const nginxConfig = (ingress: KubernetesObject, addressOf: AddressOf): string => {
  const bodySize = ingress.metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-body-size'] ?? '1m'
  const locations = pathsOf(ingress).flatMap((own) =>
    locationsOf(own).map(
      (location) => `    location ${location} { proxy_pass http://${addressOf(own.backend.service.name)}; }`,
    ),
  )
  return `events {}
http {
  access_log off;
  server {
    listen ${PORT};
    client_max_body_size ${bodySize};
    proxy_next_upstream off;
    # Streams of events.
    proxy_buffering off;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $remote_addr;
${locations.join('\n')}
  }
}
`
}

/** The image of the Ingress. */
export const INGRESS_IMAGE = 'nginx:1.28-bookworm'

const objectsOf = (config: string): KubernetesObject[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'nginx', namespace: NAMESPACE },
    data: { 'nginx.conf': config },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'nginx', namespace: NAMESPACE },
    spec: {
      hostNetwork: true,
      volumes: [{ name: 'config', configMap: { name: 'nginx' } }],
      containers: [
        {
          name: 'nginx',
          image: INGRESS_IMAGE,
          command: ['nginx', '-c', '/etc/waymark/nginx.conf', '-g', 'daemon off;'],
          volumeMounts: [{ name: 'config', mountPath: '/etc/waymark' }],
        },
      ],
    },
  },
]

/** Runs nginx with the rules of an Ingress as a pod on the network of the node, and returns its address. */
export const startIngress = async (
  cluster: Cluster,
  ingress: KubernetesObject,
  addressOf: AddressOf,
): Promise<string> => {
  const objects = objectsOf(nginxConfig(ingress, addressOf))
  await cluster.apply(objects.slice(0, 1))
  // A pod is admitted once its namespace has an account.
  await until('the namespace has an account', READY_MS, () =>
    cluster.kubectl(['get', 'serviceaccount', 'default', '--namespace', NAMESPACE]),
  )
  await cluster.apply(objects.slice(1))
  const url = `http://localhost:${PORT}`
  await until('the Ingress answers', READY_MS, async () => (await request(`${url}/healthz`)).ok)
  return url
}

type Status = {
  metadata: { name: string }
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }
}

/** The address that a controller has given an Ingress. @throws after two minutes without one */
export const addressOfIngress = (cluster: Cluster, { metadata }: KubernetesObject): Promise<string> =>
  until('the Ingress has an address; WAYMARK_URL can name it', READY_MS, async () => {
    const all = await cluster.get<Status>('ingress', metadata.namespace ?? 'default')
    const found = all.find((one) => one.metadata.name === metadata.name)
    const { hostname, ip } = found?.status?.loadBalancer?.ingress?.[0] ?? {}
    const host = hostname ?? ip
    return host !== undefined && `http://${host}`
  })
