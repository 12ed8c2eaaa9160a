import { BlockList, isIPv6 } from 'node:net'
import type { KubernetesObject } from './render.ts'

type Labels = Readonly<Record<string, string>>
type Selector = {
  matchLabels?: Labels
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}
type Port = { protocol?: string; port: number | string; endPort?: number }
type Peer = {
  podSelector?: Selector
  namespaceSelector?: Selector
  ipBlock?: { cidr: string; except?: string[] }
}
type Rule = { ports?: Port[]; from?: Peer[]; to?: Peer[] }
type Policy = { podSelector: Selector; policyTypes: string[]; ingress?: Rule[]; egress?: Rule[] }

/** A pod or another end of a connection; `namespace` defaults to that of the policies. One with an address is no pod. */
export type End = {
  labels: Labels
  namespace?: string
  address?: string
  ports?: { name: string; containerPort: number }[]
}
type Flow = { from: End; to: End; port: number; protocol?: 'TCP' | 'UDP' }

const matches = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, operator, values = [] }) => {
    if (operator !== 'In') throw new Error(`selectors with ${operator} are not understood here`)
    return values.includes(labels[key] ?? '')
  })

const isWithin = (address: string, networks: readonly string[]): boolean => {
  const list = new BlockList()
  for (const network of networks) {
    const [start = '', bits] = network.split('/')
    list.addSubnet(start, Number(bits), isIPv6(start) ? 'ipv6' : 'ipv4')
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Without a namespace selector, other namespaces do not match. */
const isPeer = (
  { podSelector = {}, namespaceSelector, ipBlock }: Peer,
  { labels, namespace, address }: End,
): boolean => {
  if (ipBlock || address !== undefined)
    return (
      ipBlock !== undefined &&
      address !== undefined &&
      isWithin(address, [ipBlock.cidr]) &&
      !isWithin(address, ipBlock.except ?? [])
    )
  return isSelected({ podSelector, namespaceSelector }, { labels, namespace })
}

const isSelected = (
  { podSelector, namespaceSelector }: { podSelector: Selector; namespaceSelector: Selector | undefined },
  { labels, namespace }: { labels: Labels; namespace: string | undefined },
): boolean =>
  matches(podSelector, labels) &&
  (namespaceSelector
    ? matches(namespaceSelector, { 'kubernetes.io/metadata.name': namespace ?? 'waymark' })
    : namespace === undefined)

const isPort = ({ protocol = 'TCP', port, endPort }: Port, flow: Flow): boolean => {
  if (protocol !== (flow.protocol ?? 'TCP')) return false
  if (typeof port === 'string')
    return (flow.to.ports ?? []).some(
      ({ name, containerPort }) => name === port && containerPort === flow.port,
    )
  return flow.port >= port && flow.port <= (endPort ?? port)
}

/** Whether the policies of the namespace `waymark` allow a connection, on whichever ends they apply to. */
export const lets = (objects: readonly KubernetesObject[], flow: Flow): boolean => {
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as Policy)
  const passes = (type: 'Ingress' | 'Egress', own: End, other: End): boolean => {
    if (own.namespace !== undefined) return true
    const ofPod = policies.filter(
      ({ podSelector, policyTypes }) => policyTypes.includes(type) && matches(podSelector, own.labels),
    )
    const rules = ofPod.flatMap(({ ingress = [], egress = [] }) => (type === 'Ingress' ? ingress : egress))
    return (
      ofPod.length === 0 ||
      rules.some(({ ports, from, to }) => {
        const peers = type === 'Ingress' ? from : to
        return (
          (ports?.some((port) => isPort(port, flow)) ?? true) &&
          (peers?.some((peer) => isPeer(peer, other)) ?? true)
        )
      })
    )
  }
  return passes('Egress', flow.from, flow.to) && passes('Ingress', flow.to, flow.from)
}
