import { variable } from '@waymark/service-kit'
import { Type } from 'typebox'

/** The variables of webhooks. */
export const webhookConfig = {
  allowPrivateAddresses: variable(
    'WEBHOOK_ALLOW_PRIVATE_ADDRESSES',
    Type.Boolean({
      default: false,
      description:
        'Whether webhooks may call private, loopback and link-local addresses. For development only: with it every ' +
        'project reaches the network of this deployment.',
    }),
  ),
  connectionsPerEndpoint: variable(
    'WEBHOOK_CONNECTIONS',
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 8,
      description: 'Deliveries to one webhook at once, per process.',
    }),
  ),
  maxInFlight: variable(
    'WEBHOOK_MAX_IN_FLIGHT',
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 1_000,
      description: 'Deliveries to all webhooks at once, per process.',
    }),
  ),
  timeoutMs: variable(
    'WEBHOOK_TIMEOUT_MS',
    Type.Integer({
      minimum: 100,
      maximum: 60_000,
      default: 10_000,
      description: 'Time of one attempt in ms, from the look-up of the name to the end of the answer.',
    }),
  ),
  retentionDays: variable(
    'WEBHOOK_RETENTION_DAYS',
    Type.Integer({
      // Longer than topics keep records, so that a record that arrives again is not delivered again.
      minimum: 8,
      maximum: 3_650,
      default: 30,
      description: 'Days for which deliveries are kept.',
    }),
  ),
} as const
