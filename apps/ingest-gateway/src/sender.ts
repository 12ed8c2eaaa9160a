import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KeyCall } from '@waymark/service-kit'
import type { Sender } from './intake.ts'

/** Who sends a request whose key was let pass. */
export const senderOf = ({ apiKey, ip, req }: Pick<KeyCall, 'apiKey' | 'ip' | 'req'>): Sender => ({
  projectId: apiKey.projectId,
  validationMode: apiKey.validationMode,
  speaksForOthers: apiKey.kind === 'sec',
  ip: ip === '' ? null : ip,
  userAgent: req.headers['user-agent'] ?? null,
})

/** Whether the client asks for the synchronous path. */
export const wantsSync = ({ url = '', headers }: IncomingMessage): boolean =>
  headers['x-service-sync'] === '1' || syncOf(url) === '1'

const syncOf = (url: string): string | null => {
  const query = url.indexOf('?')
  return query === -1 ? null : new URLSearchParams(url.slice(query)).get('sync')
}

/** Has `then` called if the client is told to repeat its request. */
export const whenGivenUp =
  (res: ServerResponse) =>
  (then: () => void): void => {
    res.once('finish', () => {
      if (res.statusCode === 503) then()
    })
  }
