import type { KubernetesObject } from './render.ts'

type Probe = { httpGet?: { path: string; port: string }; timeoutSeconds?: number }
export type Container = {
  name: string
  image: string
  env?: {
    name: string
    value?: string
    valueFrom?: { secretKeyRef?: { name: string; key: string; optional?: boolean } }
  }[]
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string; optional?: boolean } }[]
  ports?: { name: string; containerPort: number }[]
  startupProbe?: Probe
  readinessProbe?: Probe
  livenessProbe?: Probe
  lifecycle?: { preStop?: { exec?: { command: string[] } } }
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
  securityContext?: {
    allowPrivilegeEscalation?: boolean
    readOnlyRootFilesystem?: boolean
    capabilities?: { drop?: string[]; add?: string[] }
    privileged?: boolean
  }
  volumeMounts?: { name: string; mountPath: string }[]
}

type SecretSource = { name?: string; optional?: boolean; items?: { key: string; path: string }[] }

type PodSpec = {
  serviceAccountName?: string
  automountServiceAccountToken?: boolean
  enableServiceLinks?: boolean
  hostNetwork?: boolean
  terminationGracePeriodSeconds?: number
  securityContext?: {
    runAsNonRoot?: boolean
    runAsUser?: number
    fsGroup?: number
    seccompProfile?: { type: string }
  }
  priorityClassName?: string
  imagePullSecrets?: { name: string }[]
  topologySpreadConstraints?: { topologyKey: string }[]
  containers: Container[]
  volumes?: {
    name: string
    hostPath?: object
    secret?: { secretName: string }
    projected?: { sources: { secret?: SecretSource }[] }
  }[]
}

/** An object that runs pods. */
export type Workload = {
  kind: string
  name: string
  labels: Record<string, string>
  replicas: number | undefined
  /** Of a Deployment; `RollingUpdate` unless set. */
  strategyType: string | undefined
  rollingUpdate: { maxSurge?: number; maxUnavailable?: number } | undefined
  podLabels: Record<string, string>
  pod: PodSpec
}

type WorkloadSpec = {
  replicas?: number
  strategy?: { type?: string; rollingUpdate?: Workload['rollingUpdate'] }
  template: { metadata: { labels: Record<string, string> }; spec: PodSpec }
}

const KINDS = ['Deployment', 'StatefulSet', 'Job']

/** The objects that run pods. */
export const workloadsOf = (objects: readonly KubernetesObject[]): Workload[] =>
  objects
    .filter(({ kind }) => KINDS.includes(kind))
    .map(({ kind, metadata, ...rest }) => {
      const { replicas, strategy, template } = rest.spec as WorkloadSpec
      return {
        kind,
        name: metadata.name,
        labels: metadata.labels ?? {},
        replicas,
        strategyType: strategy?.type,
        rollingUpdate: strategy?.rollingUpdate,
        podLabels: template.metadata.labels,
        pod: template.spec,
      }
    })

/** The violations of the Pod Security Standard `restricted`. */
export const restrictedProblems = ({ name, pod }: Workload): string[] => {
  const { securityContext: context = {}, containers, volumes = [], hostNetwork } = pod
  const problems = [
    ...(context.runAsNonRoot === true && context.runAsUser !== 0 ? [] : ['may run as root']),
    ...(context.seccompProfile?.type === 'RuntimeDefault' ? [] : ['has no seccomp profile']),
    ...(hostNetwork ? ["is on the node's network"] : []),
    ...(volumes.some(({ hostPath }) => hostPath) ? ["mounts the node's files"] : []),
    ...containers.flatMap(({ securityContext: own = {} }) => [
      ...(own.allowPrivilegeEscalation === false ? [] : ['may gain privileges']),
      ...(own.capabilities?.drop?.includes('ALL') && !own.capabilities.add ? [] : ['has capabilities']),
      ...(own.privileged ? ['is privileged'] : []),
    ]),
  ]
  return problems.map((problem) => `${name} ${problem}`)
}

/** The keys of Secrets that a pod mounts as files for `SECRETS_DIR`, as `secret/key`; `secret/*` are all of its keys. */
export const mountedSecrets = ({ volumes = [] }: PodSpec): string[] =>
  volumes
    .filter(({ name }) => name === 'secrets')
    .flatMap(({ projected }) => projected?.sources ?? [])
    .flatMap(({ secret }) =>
      secret?.items ? secret.items.map(({ key }) => `${secret.name}/${key}`) : [`${secret?.name}/*`],
    )
