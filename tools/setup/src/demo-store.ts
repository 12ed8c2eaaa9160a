import { readFile } from 'node:fs/promises'
import { writeFileAtomically } from '@waymark/service-kit'

/** A store of `demo.json`, whose keys and password cannot be recovered. */
type DemoStore = { read(): Promise<string | undefined>; write(text: string): Promise<void> }

const FILE_NAME = 'demo.json'

/** Whether a stored `demo.json` has a key for browsers. */
export const isComplete = (text: string | undefined): boolean => text?.includes('"publicKey"') ?? false

/** Keeps `demo.json` in a file that only its owner can read. */
export const demoInFile = (file: string): DemoStore => ({
  read: () =>
    readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    }),
  write: (text) => writeFileAtomically(file, text),
})

/** The API server of a cluster, and a service account that may get, create and update the Secret. */
type KubernetesApi = { url: string; token: string; namespace: string }

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * The cluster of this process. Node.js must trust its certificate (NODE_EXTRA_CA_CERTS).
 * @throws when this process does not run in a pod with a service account
 */
export const surroundingCluster = async (): Promise<KubernetesApi> => ({
  url: 'https://kubernetes.default.svc',
  token: await readFile(`${ACCOUNT}/token`, 'utf8'),
  namespace: await readFile(`${ACCOUNT}/namespace`, 'utf8'),
})

/** Keeps `demo.json` in the Secret `name`. */
export const demoInSecret = (name: string, { url, token, namespace }: KubernetesApi): DemoStore => {
  const secrets = `${url}/api/v1/namespaces/${namespace}/secrets`

  const ask = async (method: string, address: string, body?: object): Promise<Response> => {
    const response = await fetch(address, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (response.ok || response.status === 404) return response
    throw new Error(`Kubernetes answered ${response.status} to ${method} ${address}`)
  }

  return {
    read: async () => {
      const response = await ask('GET', `${secrets}/${name}`)
      if (response.status === 404) return undefined
      const { data } = (await response.json()) as { data?: Record<string, string> }
      const content = data?.[FILE_NAME]
      return content === undefined ? undefined : Buffer.from(content, 'base64').toString('utf8')
    },
    write: async (text) => {
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, labels: { 'app.kubernetes.io/part-of': 'waymark' } },
        stringData: { [FILE_NAME]: text },
      }
      const replaced = await ask('PUT', `${secrets}/${name}`, secret)
      if (replaced.status !== 404) return
      const created = await ask('POST', secrets, secret)
      if (!created.ok) throw new Error(`The namespace ${namespace} does not exist`)
    },
  }
}
