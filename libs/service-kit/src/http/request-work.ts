import { hash } from 'node:crypto'
import { chargeWork, clientNetworkOf, runAsWork, type WorkKind } from '@waymark/domain'
import type { HttpRequest } from './request.ts'

/**
 * Runs a request as work of the client's network, until `chargeProject` says whose it is. Credentials of one network take
 * turns, so that a sign-in does not wait for all lookups of one session.
 */
export const runAsClient = <T>({ ip, headers }: Pick<HttpRequest, 'ip' | 'headers'>, run: () => T): T => {
  const credential = `${headers.authorization ?? ''} ${headers['x-api-key'] ?? ''} ${headers.cookie ?? ''}`
  return runAsWork(
    {
      tenantId: `network ${clientNetworkOf(ip)}`,
      projectId: credential === '  ' ? '' : hash('sha256', credential, 'base64'),
    },
    run,
  )
}

/** Charges the rest of a request to the project that it is for. */
export const chargeProject = (
  { tenantId, projectId }: { tenantId: string; projectId: string },
  kind: WorkKind,
): void => chargeWork({ tenantId, projectId }, kind)

/** Charges the rest of a request to a signed-in user, when it is not for a project. */
export const chargeUser = (userId: string, kind: WorkKind): void =>
  chargeWork({ tenantId: `user ${userId}`, projectId: '' }, kind)
