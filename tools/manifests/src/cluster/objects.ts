import type { KubernetesObject } from '../render.ts'

type Volume = { name: string; [kind: string]: unknown }
type PodTemplate = {
  metadata: { labels: Record<string, string> }
  spec: { containers: { image: string }[]; volumes?: Volume[]; [field: string]: unknown }
}
type Claim = { metadata: { name: string }; spec: { resources: { requests: { storage: string } } } }
type WorkloadSpec = { template: PodTemplate; volumeClaimTemplates?: Claim[] }

/** Objects in another namespace, so that several overlays fit into a cluster. */
export const inNamespace = (objects: readonly KubernetesObject[], namespace: string): KubernetesObject[] =>
  objects.map((object) => {
    const { kind, metadata, subjects } = object
    if (kind === 'Namespace') return { ...object, metadata: { ...metadata, name: namespace } }
    if (metadata.namespace === undefined) return object
    const moved = { ...object, metadata: { ...metadata, namespace } }
    if (!Array.isArray(subjects)) return moved
    return { ...moved, subjects: subjects.map((subject: object) => ({ ...subject, namespace })) }
  })

const templateOf = ({ spec }: KubernetesObject): PodTemplate | undefined =>
  (spec as Partial<WorkloadSpec> | undefined)?.template?.spec?.containers
    ? (spec as WorkloadSpec).template
    : undefined

/** The pods that workloads would create, for an API server without controllers. */
export const podsOf = (objects: readonly KubernetesObject[]): KubernetesObject[] =>
  objects.flatMap((object) => {
    const template = templateOf(object)
    if (!template || !['Deployment', 'StatefulSet', 'Job'].includes(object.kind)) return []
    const { volumeClaimTemplates = [] } = object.spec as WorkloadSpec
    const claimed = volumeClaimTemplates.map(({ metadata: { name } }) => ({ name, emptyDir: {} }))
    const { name, namespace } = object.metadata
    return [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `${object.kind.toLowerCase()}-${name}`,
          ...(namespace !== undefined && { namespace }),
          labels: template.metadata.labels,
        },
        spec: { ...template.spec, volumes: [...(template.spec.volumes ?? []), ...claimed] },
      },
    ]
  })

/** Objects whose images `waymark/…` come from another registry. */
export const withImages = (objects: readonly KubernetesObject[], prefix: string): KubernetesObject[] =>
  objects.map((object) => {
    const template = templateOf(object)
    if (!template) return object
    const containers = template.spec.containers.map((container) => ({
      ...container,
      image: container.image.replace(/^waymark\//, prefix),
    }))
    const spec = {
      ...(object.spec as object),
      template: { ...template, spec: { ...template.spec, containers } },
    }
    return { ...object, spec }
  })

/** The images that the pods of objects run, each once. */
export const imagesOf = (objects: readonly KubernetesObject[]): string[] => [
  ...new Set(
    objects.flatMap((object) => templateOf(object)?.spec.containers.map(({ image }) => image) ?? []),
  ),
]

/** Volumes in folders of the node, one for each volume that a StatefulSet claims. */
export const volumesFor = (objects: readonly KubernetesObject[], folder: string): KubernetesObject[] =>
  objects
    .filter(({ kind }) => kind === 'StatefulSet')
    .flatMap(({ metadata, spec }) =>
      ((spec as WorkloadSpec).volumeClaimTemplates ?? []).map((claim) => ({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: metadata.name },
        spec: {
          capacity: claim.spec.resources.requests,
          accessModes: ['ReadWriteOnce'],
          hostPath: { path: `${folder}/${metadata.name}` },
          claimRef: { namespace: metadata.namespace, name: `${claim.metadata.name}-${metadata.name}-0` },
        },
      })),
    )

/** Whether the cluster can describe an object, by the groups of its API. */
export const isServed = ({ apiVersion }: KubernetesObject, servedVersions: readonly string[]): boolean =>
  servedVersions.includes(apiVersion)

/** Objects with more settings in the ConfigMap of all services. */
export const withSettings = (
  objects: readonly KubernetesObject[],
  settings: Record<string, string>,
): KubernetesObject[] =>
  objects.map((object) =>
    object.kind === 'ConfigMap' && object.metadata.name.startsWith('waymark-config')
      ? { ...object, data: { ...(object.data as object), ...settings } }
      : object,
  )
