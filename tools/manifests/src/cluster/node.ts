import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { stringify } from 'yaml'
import type { KubernetesObject } from '../render.ts'
import { type Places, SERVICE_RANGE } from './control-plane.ts'
import type { Daemons } from './daemons.ts'
import type { Cluster } from './kubectl.ts'
import { programOf } from './kubernetes-build.ts'
import { imagesOf, volumesFor } from './objects.ts'
import { run, until } from './run.ts'

const NODE = 'waymark-node'
const BRIDGE = 'wm-pods'
const POD_RANGE = '10.98.0.0/24'
/** The address of the bridge to which pods are connected: that of the node. */
export const NODE_ADDRESS = '10.98.0.1'
/** In a folder that `isolate.sh` provides. */
const SOCKET = '/run/containerd/waymark.sock'
const PAUSE_IMAGE = 'waymark/pause:test'
/** A pod begins with a container that does nothing. */
const PAUSE_DOCKERFILE = 'FROM debian:bookworm-slim\nCMD ["sleep", "infinity"]\n'
const READY_MS = 180_000

type Service = { metadata: { name: string; namespace: string }; spec: { clusterIP?: string } }

/** The network between pods, by the plug-ins of CNI. */
const networkOf = (folder: string): string =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name: 'waymark',
    plugins: [
      {
        type: 'bridge',
        bridge: BRIDGE,
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: path.join(folder, 'addresses'),
          ranges: [[{ subnet: POD_RANGE }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  })

const containerdConfigOf = ({ cache, folder }: Places): string => `version = 2
root = "${folder}/containerd"
state = "/run/containerd/state"
[grpc]
  address = "${SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  # Where root may not lower scores, as in some virtual machines, no container would start.
  restrict_oom_score_adj = true
  sandbox_image = "docker.io/${PAUSE_IMAGE}"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "${cache}/debian/usr/lib/cni"
  conf_dir = "${folder}/cni"
`

const kubeletConfig = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  // Only this machine and its pods reach the address of the bridge.
  address: NODE_ADDRESS,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  cgroupDriver: 'cgroupfs',
  failCgroupV1: false,
  failSwapOn: false,
  containerRuntimeEndpoint: `unix://${SOCKET}`,
  clusterDNS: [NODE_ADDRESS],
  clusterDomain: 'cluster.local',
  resolvConf: '',
  volumePluginDir: '/var/lib/kubelet/volume-plugins',
  // The disk is that of the whole machine.
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
}

/** Creates the bridge of pods, whose address is that of the node. */
export const createBridge = async (): Promise<void> => {
  await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge'])
  await run('ip', ['address', 'add', `${NODE_ADDRESS}/24`, 'dev', BRIDGE])
  await run('ip', ['link', 'set', BRIDGE, 'up'])
  // kube-proxy changes the destination of packets that have a route.
  await run('ip', ['route', 'add', SERVICE_RANGE, 'dev', BRIDGE])
}

/** The lines of a hosts file with the Services of a cluster, for its DNS. */
export const hostsOf = (services: readonly Service[]): string =>
  services
    .filter(({ spec: { clusterIP } }) => clusterIP && clusterIP !== 'None')
    .map(
      ({ metadata: { name, namespace }, spec }) =>
        `${spec.clusterIP} ${name}.${namespace}.svc.cluster.local\n`,
    )
    .join('')

/** What runs pods on this machine. */
export type Node = {
  /** Gives the Services of the cluster names. */
  nameServices(): Promise<void>
  /** The address of a Service of a namespace. */
  addressOf(name: string, namespace: string): string
}

/**
 * Starts containerd, a kubelet, kube-proxy and dnsmasq as the DNS of Services, and waits until the node is ready. Runs in
 * `isolate.sh`.
 * @throws with the log of a process that has ended
 */
export const startNode = async (cluster: Cluster, places: Places, daemons: Daemons): Promise<Node> => {
  const { cache, folder } = places
  const file = (name: string, content: string): string => {
    const target = path.join(folder, name)
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, content)
    return target
  }
  file('cni/10-waymark.conflist', networkOf(folder))
  daemons.start('containerd', 'containerd', ['--config', file('containerd.toml', containerdConfigOf(places))])
  await until('containerd answers', READY_MS, async () => {
    daemons.check()
    return run('ctr', ['--address', SOCKET, 'version'])
  })

  // dnsmasq notices changes of files in this folder.
  const hosts = file('names/services', '')
  daemons.start('dnsmasq', 'dnsmasq', [
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--no-resolv',
    '--no-hosts',
    `--hostsdir=${path.dirname(hosts)}`,
    '--local=/cluster.local/',
    '--bind-interfaces',
    `--listen-address=${NODE_ADDRESS}`,
    '--user=root',
    '--pid-file=',
  ])
  daemons.start('kube-proxy', programOf('kube-proxy', cache), [
    `--kubeconfig=${cluster.kubeconfig}`,
    `--hostname-override=${NODE}`,
    `--cluster-cidr=${POD_RANGE}`,
    '--proxy-mode=iptables',
    // These are settings of the whole machine.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ])
  daemons.start('kubelet', programOf('kubelet', cache), [
    `--kubeconfig=${cluster.kubeconfig}`,
    `--config=${file('kubelet.yaml', stringify(kubeletConfig))}`,
    `--hostname-override=${NODE}`,
    `--node-ip=${NODE_ADDRESS}`,
  ])
  await until('the node is ready', READY_MS, async () => {
    daemons.check()
    const ready = await cluster.kubectl([
      'get',
      'node',
      NODE,
      '--output',
      'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
    ])
    return ready === 'True'
  })

  let services: Service[] = []
  return {
    nameServices: async () => {
      const output = await cluster.kubectl(['get', 'services', '--all-namespaces', '--output', 'json'])
      services = (JSON.parse(output) as { items: Service[] }).items
      writeFileSync(hosts, hostsOf(services))
    },
    addressOf: (name, namespace) => {
      const found = services.find(
        ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
      )
      if (!found?.spec.clusterIP) throw new Error(`The Service ${name} has no address`)
      return found.spec.clusterIP
    },
  }
}

/** Gives the node images from Docker, and volumes for the StatefulSets of `objects`. @throws when an image is missing */
export const provideFor = async (
  cluster: Cluster,
  objects: readonly KubernetesObject[],
  moreImages: readonly string[],
  { folder }: Places,
): Promise<void> => {
  await run('docker', ['build', '--quiet', '--tag', PAUSE_IMAGE, '-'], { input: PAUSE_DOCKERFILE })
  const transfer = 'set -o pipefail; docker save "$@" | ctr --address "$0" --namespace k8s.io images import -'
  await run('bash', ['-c', transfer, SOCKET, PAUSE_IMAGE, ...moreImages, ...imagesOf(objects)])
  const volumes = path.join(folder, 'volumes')
  const persistent = volumesFor(objects, volumes)
  for (const { metadata } of persistent) {
    const own = path.join(volumes, metadata.name)
    mkdirSync(own, { recursive: true })
    // The servers run as users of their own.
    chmodSync(own, 0o777)
  }
  await cluster.apply(persistent)
}
