import path from 'node:path'
import type { KubernetesObject } from '../render.ts'
import { type Note, overlay } from './api-checks.ts'
import type { Cluster } from './kubectl.ts'
import { withImages, withSettings } from './objects.ts'
import { run } from './run.ts'
import { changeUnderLoad, readInstallation, runSuites, waitUntilReady } from './service-checks.ts'

const CREATE_SECRETS = path.resolve(
  import.meta.dirname,
  '../../../../deploy/k8s/overlays/local/create-secrets.sh',
)
/** All requests of the test come from one address. */
const SETTINGS = {
  LIMIT_INGEST_PER_MINUTE: '1000000',
  LIMIT_PROFILE_PER_MINUTE: '1000000',
  LIMIT_REDEEM_PER_MINUTE: '1000000',
  LIMIT_DECIDE_PER_MINUTE: '1000000',
}

/** The local overlay as the test installs it. */
export const local = (): KubernetesObject[] =>
  withSettings(withImages(overlay('local'), process.env.IMAGE_PREFIX ?? 'waymark/'), SETTINGS)

type Means = {
  /** Is called once there are Services, and before there are pods. */
  nameServices(): Promise<void>
  /** Finds the address of the Ingress. */
  findUrl(ingress: KubernetesObject): Promise<string>
  note: Note
}

/** Installs the local overlay, and checks it as it runs. @throws when a check fails */
export const checkRunning = async (
  cluster: Cluster,
  { nameServices, findUrl, note }: Means,
): Promise<void> => {
  const objects = local()
  const ingress = objects.find(({ kind }) => kind === 'Ingress')
  if (!ingress) throw new Error('overlays/local has no Ingress')
  await run(CREATE_SECRETS, [], { env: { KUBECONFIG: cluster.kubeconfig } })
  await cluster.apply(objects.filter(({ kind }) => kind === 'Service'))
  await nameServices()
  note('overlays/local, installed', `${await cluster.apply(objects)} of ${objects.length} objects`)
  await waitUntilReady(cluster, note)
  const installation = await readInstallation(cluster, await findUrl(ingress))
  await runSuites(installation, note)
  await changeUnderLoad(cluster, installation, note)
}
