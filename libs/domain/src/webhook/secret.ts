import { randomBytes } from 'node:crypto'

/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 32

/** A random secret in the format of Standard Webhooks: `whsec_` and base64. */
export const generateWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
