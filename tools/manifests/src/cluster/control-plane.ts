import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { stringify } from 'yaml'
import type { Daemons } from './daemons.ts'
import { type Cluster, createKubectl } from './kubectl.ts'
import { buildComponents, programOf } from './kubernetes-build.ts'
import { run, until } from './run.ts'

const API_PORT = 26443
const ETCD_PORT = 22379
/** The addresses of Services. */
export const SERVICE_RANGE = '10.97.0.0/16'
const READY_MS = 300_000

const kubeconfigOf = (host: string, token: string, certificate: string): string => {
  const cluster = { server: `https://${host}:${API_PORT}`, 'certificate-authority': certificate }
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    users: [{ name: 'admin', user: { token } }],
    clusters: [{ name: 'test', cluster }],
  })
}

/**
 * Where a cluster of the test keeps things: `cache` has programs for later runs, `folder` certificates and data. Pods
 * reach the API server at `address`; without one only this machine does.
 */
export type Places = { cache: string; folder: string; address?: string }

const folderOfCertificates = ({ folder }: Places): string => path.join(folder, 'certificates')

/**
 * Starts Debian's etcd and the API server of Kubernetes.
 * @throws with its log when one of them ends
 */
export const startControlPlane = async (places: Places, daemons: Daemons): Promise<Cluster> => {
  const { cache, folder, address } = places
  const certificates = folderOfCertificates(places)
  mkdirSync(certificates, { recursive: true })
  const file = (name: string, content: string): string => {
    const target = path.join(certificates, name)
    writeFileSync(target, content, { mode: 0o600 })
    return target
  }
  await buildComponents(['kube-apiserver'], cache)

  const etcd = `http://127.0.0.1:${ETCD_PORT}`
  daemons.start('etcd', path.join(cache, 'debian/usr/bin/etcd'), [
    `--data-dir=${path.join(folder, 'etcd')}`,
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=http://127.0.0.1:${ETCD_PORT + 1}`,
  ])
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const token = randomBytes(24).toString('hex')
  // The API server writes its certificate there, followed by that of its authority.
  const certificate = path.join(certificates, 'apiserver.crt')
  // Its certificate names the address to which it is bound, or localhost if it is bound to all.
  const host = address ? 'localhost' : '127.0.0.1'
  const kubeconfig = file('kubeconfig', kubeconfigOf(host, token, certificate))
  daemons.start('kube-apiserver', programOf('kube-apiserver', cache), [
    `--etcd-servers=${etcd}`,
    ...(address
      ? ['--bind-address=0.0.0.0', `--advertise-address=${address}`]
      : ['--bind-address=127.0.0.1']),
    `--secure-port=${API_PORT}`,
    `--cert-dir=${certificates}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('accounts.pub', publicKey)}`,
    `--service-account-signing-key-file=${file('accounts.key', privateKey)}`,
    `--token-auth-file=${file('tokens.csv', `${token},admin,admin,"system:masters"\n`)}`,
    '--authorization-mode=RBAC',
    '--kubelet-preferred-address-types=InternalIP',
  ])
  await until('the API server is ready', READY_MS, async () => {
    daemons.check()
    return run('kubectl', ['get', '--raw', '/readyz'], { env: { KUBECONFIG: kubeconfig } })
  })
  return createKubectl(kubeconfig)
}

/** Starts the controllers and the scheduler of Kubernetes. @throws when there are no programs of them */
export const startControllers = (cluster: Cluster, places: Places, daemons: Daemons): void => {
  const { cache, folder } = places
  const certificates = folderOfCertificates(places)
  const common = [`--kubeconfig=${cluster.kubeconfig}`, '--leader-elect=false', '--secure-port=0']
  daemons.start('kube-controller-manager', programOf('kube-controller-manager', cache), [
    ...common,
    `--root-ca-file=${path.join(certificates, 'apiserver.crt')}`,
    `--service-account-private-key-file=${path.join(certificates, 'accounts.key')}`,
    `--flex-volume-plugin-dir=${path.join(folder, 'flex-volumes')}`,
  ])
  daemons.start('kube-scheduler', programOf('kube-scheduler', cache), common)
}
