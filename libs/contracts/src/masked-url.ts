import { createHash } from 'node:crypto'

/**
 * A secret address as it may be shown: its origin, and the beginning of its SHA-256, by which a change of it can be seen.
 * @param url an absolute URL
 */
export const maskedUrl = (url: string): string =>
  `${new URL(url).origin}/…#${createHash('sha256').update(url).digest('hex').slice(0, 12)}`
