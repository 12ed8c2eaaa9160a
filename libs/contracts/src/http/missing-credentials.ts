import type { Access } from './operation.ts'

/** The messages of 401 by the kind of access. */
export const missingCredentials = (by: Access['by']): string => {
  if (by === 'session') return 'Missing or invalid session'
  const key = 'X-API-Key or as Authorization: Bearer'
  return by === 'key'
    ? `Missing or invalid API key: send it as ${key}`
    : `Missing or invalid session or API key: sign in, or send a key as ${key}`
}
