import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import type { KubernetesObject } from '../render.ts'
import {
  applyOverlay,
  checkHelm,
  checkOverlay,
  checkRefusal,
  NAMESPACES,
  OVERLAYS,
  priorityClassesToCreate,
} from './api-checks.ts'
import { type Places, startControllers, startControlPlane } from './control-plane.ts'
import { operatorDefinitions } from './crds.ts'
import { createDaemons } from './daemons.ts'
import { addressOfIngress, INGRESS_IMAGE, startIngress } from './ingress.ts'
import { checkRunning, local } from './installation.ts'
import { type Cluster, createKubectl } from './kubectl.ts'
import { buildComponents, COMPONENTS } from './kubernetes-build.ts'
import { createBridge, NODE_ADDRESS, type Node, provideFor, startNode } from './node.ts'
import { imagesOf } from './objects.ts'
import { run } from './run.ts'
import { NAMESPACE } from './service-checks.ts'

const TOOL = path.resolve(import.meta.dirname, '../..')
/** Programs that a node needs, besides those that this test builds or downloads. */
const PROGRAMS = ['unshare', 'ip', 'iptables', 'containerd', 'ctr', 'runc', 'dnsmasq', 'docker']
const results: [string, string][] = []
const note = (check: string, result: string): void => {
  results.push([check, result])
  process.stdout.write(`${check}: ${result}\n`)
}

/** Checks that need an API server only. */
const checkApi = async (cluster: Cluster): Promise<void> => {
  const about = JSON.parse(await cluster.kubectl(['version', '--output', 'json']))
  note('Kubernetes', about.serverVersion.gitVersion)
  for (const name of OVERLAYS) await checkOverlay(cluster, name, note)
  await checkRefusal(cluster, 'local', note)
  await checkHelm(cluster, note)
}

/** Tests on a cluster of the user's. Creates namespaces, and deletes them. */
const testOn = async (kubeconfig: string): Promise<void> => {
  const cluster = createKubectl(kubeconfig)
  const namespaces = [NAMESPACE, ...NAMESPACES]
  for (const name of namespaces)
    if (await cluster.exists('namespace', name))
      throw new Error(`The namespace ${name} exists. The test creates and deletes it: delete it first`)
  const created = [...new Set(await priorityClassesToCreate(cluster))]
  try {
    await checkApi(cluster)
    const url = process.env.WAYMARK_URL?.replace(/\/$/, '')
    const findUrl = async (ingress: KubernetesObject) => url ?? addressOfIngress(cluster, ingress)
    await checkRunning(cluster, { nameServices: async () => {}, findUrl, note })
  } finally {
    const remove = ['delete', '--ignore-not-found', '--wait=false']
    await cluster.kubectl([...remove, 'namespace', ...namespaces])
    if (created.length > 0) await cluster.kubectl([...remove, 'priorityclass', ...created])
  }
}

/** Why this machine cannot run pods, or undefined. */
const reasonAgainstPods = async (): Promise<string | undefined> => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a kubelet needs root on Linux'
  for (const program of PROGRAMS) {
    const found = await run('sh', ['-c', `command -v ${program}`]).catch(() => '')
    if (found === '') return `${program} is not installed`
  }
  const images = ['debian:bookworm-slim', INGRESS_IMAGE, ...imagesOf(local())]
  return run('docker', ['image', 'inspect', ...images]).then(
    () => undefined,
    (error: Error) => error.message.split('\n').at(-1),
  )
}

const definitionsFile = (folder: string) => path.join(folder, 'definitions.json')

/** Tests on a cluster that it starts. With an address it has a node, and runs in `isolate.sh`. */
const testOnOwn = async (places: Places): Promise<void> => {
  const daemons = createDaemons(path.join(places.folder, 'logs'))
  try {
    if (places.address) await createBridge()
    const cluster = await startControlPlane(places, daemons)
    const definitions = JSON.parse(readFileSync(definitionsFile(places.folder), 'utf8'))
    note('CustomResourceDefinitions of operators', `${await cluster.apply(definitions)}`)
    await cluster.kubectl(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=120s'])
    await checkApi(cluster)
    for (const name of OVERLAYS) await applyOverlay(cluster, name, note)
    if (!places.address) return

    // Nothing of them runs, because no controllers have been started yet.
    await cluster.kubectl(['delete', '--wait=false', 'namespace', ...NAMESPACES])
    startControllers(cluster, places, daemons)
    const node: Node = await startNode(cluster, places, daemons)
    note('kubelet', 'ready')
    await provideFor(cluster, local(), [INGRESS_IMAGE], places)
    const findUrl = (ingress: KubernetesObject) =>
      startIngress(cluster, ingress, (service) => node.addressOf(service, NAMESPACE))
    await checkRunning(cluster, { nameServices: node.nameServices, findUrl, note })
  } finally {
    await daemons.stop()
  }
}

/** Runs this program again in `isolate.sh`, which prints its report. @throws when it fails */
const isolate = async (folder: string): Promise<void> => {
  const args = [folder, process.execPath, import.meta.filename]
  const env = { ...process.env, WAYMARK_CLUSTER_FOLDER: folder }
  const child = spawn(path.join(TOOL, 'isolate.sh'), args, { stdio: 'inherit', env })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error('The test on the cluster of this machine failed')
}

/** Prepares what needs the network, and tests on a cluster of this machine. */
const prepareAndTest = async (cache: string): Promise<void> => {
  mkdirSync(cache, { recursive: true })
  await run(path.join(TOOL, 'install-cluster.sh'), [path.join(cache, 'debian')])
  const reason = await reasonAgainstPods()
  await buildComponents(reason === undefined ? COMPONENTS : ['kube-apiserver'], cache)
  const folder = mkdtempSync(path.join(cache, 'run-'))
  try {
    writeFileSync(definitionsFile(folder), JSON.stringify(await operatorDefinitions(cache)))
    if (reason === undefined) return await isolate(folder)
    await testOnOwn({ cache, folder })
    note('pods', `not run: ${reason}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const { KUBECONFIG, WAYMARK_CLUSTER_FOLDER: folder } = process.env
const cache = path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'waymark-cluster')
try {
  if (folder) await testOnOwn({ cache, folder, address: NODE_ADDRESS })
  else await (KUBECONFIG ? testOn(KUBECONFIG) : prepareAndTest(cache))
} finally {
  if (results.length > 0) process.stdout.write('\n| check | result |\n| --- | --- |\n')
  for (const [name, result] of results) process.stdout.write(`| ${name} | ${result} |\n`)
}
