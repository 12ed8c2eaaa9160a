import { AppError } from '@waymark/contracts/app-error'
import { isEmailAddress } from '@waymark/contracts/email-address'
import {
  type Bounce,
  bounce,
  bounceReport,
  MAX_BOUNCES_BODY_BYTES,
  reportBounces,
} from '@waymark/contracts/http/email-feedback'
import { requireValid } from '@waymark/contracts/require-valid'
import { type CorePlatform, keyRoute, type Route } from '@waymark/service-kit'
import type { ClientBase } from 'pg'
import { deliveryOfMessageId } from './compose-mail.ts'
import { markBounced } from './delivery-queries.ts'
import { publishEmails } from './publish-emails.ts'
import { suppress } from './suppression-queries.ts'

/** Receives bounces and complaints, and suppresses their addresses unless the bounce is soft. */
export const bouncesRoute = ({ db, apiKeys }: Pick<CorePlatform, 'db' | 'apiKeys'>): Route =>
  keyRoute(
    reportBounces,
    { apiKeys, maxBodyBytes: MAX_BOUNCES_BODY_BYTES },
    async ({ apiKey: { projectId }, body }) => {
      const { bounces, invalid } = sortBounces(requireValid(bounceReport, body.value).bounces)
      const result = await db.transaction(async (client) => ({
        suppressed: await suppress(
          client,
          bounces
            .filter(({ type }) => type !== 'soft')
            .map(({ address, type, reason }) => ({
              projectId,
              address,
              reason: type === 'complaint' ? ('complained' as const) : ('bounced' as const),
              detail: storable(reason),
            })),
        ),
        bounced: await mark(client, projectId, bounces),
      }))
      return { body: { ...result, ...(invalid.length > 0 && { invalid }) } }
    },
  )

type InvalidBounce = { index: number; reason: string }

/**
 * Separates the reports that are valid from the others.
 * @throws AppError bad_request when none is valid
 */
export const sortBounces = (given: readonly unknown[]): { bounces: Bounce[]; invalid: InvalidBounce[] } => {
  const bounces: Bounce[] = []
  const invalid: InvalidBounce[] = []
  for (const [index, report] of given.entries()) {
    if (!bounce.fits(report)) {
      const { field = '', message = 'is not valid' } = bounce.check(report) ?? {}
      invalid.push({ index, reason: `${field || 'The report'} ${message}` })
    } else if (isEmailAddress(report.address.trim())) bounces.push(report)
    else invalid.push({ index, reason: 'address is not an email address' })
  }
  const [first] = invalid
  if (bounces.length === 0 && first)
    throw new AppError('bad_request', `bounces.${first.index}: ${first.reason}`)
  return { bounces, invalid }
}

const mark = async (client: ClientBase, projectId: string, bounces: readonly Bounce[]): Promise<number> => {
  const named = new Map<string, string | null>()
  for (const { messageId, type, reason } of bounces) {
    const id = messageId === undefined ? undefined : deliveryOfMessageId(messageId)
    if (id !== undefined && type !== 'complaint') named.set(id, storable(reason))
  }
  const bounced = await markBounced(client, projectId, named)
  await publishEmails(
    client,
    'bounced',
    bounced.filter(({ test }) => !test),
  )
  return bounced.length
}

// PostgreSQL cannot store U+0000.
const storable = (text: string | undefined): string | null =>
  text?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null
