import { hash } from 'node:crypto'
import { clientNetworkOf } from '@waymark/domain/enrichment'
import {
  chargeWork,
  currentWorkEnder,
  runAsWork,
  type WorkKind,
  type WorkOwner,
} from '@waymark/domain/fairness'
import type { HttpRequest } from './request.ts'

/**
 * Runs a request as work of the client's network, until `chargeProject` says whose it is. Credentials of one network take
 * turns, so that a sign-in does not wait for all lookups of one session. `maxTurnWaitMs` as in `runAsWork`.
 */
export const runAsClient = <T>(
  { ip, headers, onEnd }: Pick<HttpRequest, 'ip' | 'headers' | 'onEnd'>,
  run: () => T,
  maxTurnWaitMs?: number,
): T =>
  runAsWork(
    new Client(ip, headers),
    () => {
      onEnd(currentWorkEnder())
      return run()
    },
    maxTurnWaitMs,
  )

// A class, because each object literal with a getter would get a hidden class of its own, which would keep the request in
// memory until the next full garbage collection.
class Client implements WorkOwner {
  readonly #ip: string
  readonly #headers: HttpRequest['headers']

  constructor(ip: string, headers: HttpRequest['headers']) {
    this.#ip = ip
    this.#headers = headers
  }

  // Computed on use, because most requests are charged to a project before they wait for anything.
  get tenantId(): string {
    return `network ${clientNetworkOf(this.#ip)}`
  }

  get projectId(): string {
    return credentialsOf(this.#headers)
  }
}

/** A digest of what a request authenticates with. Empty when that is nothing. */
const credentialsOf = ({ authorization = '', cookie = '', ...headers }: HttpRequest['headers']): string => {
  const credentials = `${authorization} ${headers['x-api-key'] ?? ''} ${cookie}`
  return credentials === '  ' ? '' : hash('sha256', credentials, 'base64')
}

/** Charges the rest of a request to the project that it is for. */
export const chargeProject = (
  { tenantId, projectId }: { tenantId: string; projectId: string },
  kind: WorkKind,
): void => chargeWork({ tenantId, projectId }, kind)

/** Charges the rest of a request to a signed-in user, when it is not for a project. */
export const chargeUser = (userId: string, kind: WorkKind): void =>
  chargeWork({ tenantId: `user ${userId}`, projectId: '' }, kind)
