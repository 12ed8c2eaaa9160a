import { AppError, type Bounce, MAX_BOUNCES_BODY_BYTES, reportBounces } from '@waymark/contracts'
import { isEmailAddress } from '@waymark/domain'
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
      const bounces = requireBounces(body.value)
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
      return { body: result }
    },
  )

const requireBounces = (body: unknown): Bounce[] => {
  const validator = reportBounces.body?.validator
  if (!validator?.fits(body)) {
    const problem = validator?.check(body) ?? { field: '', rule: 'schema', message: 'is not valid' }
    throw new AppError('bad_request', `${problem.field || 'The body'} ${problem.message}`, {
      errors: [problem],
    })
  }
  const wrong = body.bounces.findIndex(({ address }) => !isEmailAddress(address.trim()))
  if (wrong !== -1) throw new AppError('bad_request', `bounces.${wrong}.address is not an email address`)
  return body.bounces
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
