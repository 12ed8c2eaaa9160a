import { createEmailSender, deleteEmailSender, listEmailSenders } from '@waymark/contracts/http/email-senders'
import type { Prisma } from '@waymark/database'
import { parseSender } from '@waymark/domain/email'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireAllowed } from '../http/require-allowed.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'

/**
 * Verification emails for a tenant per hour, and to one recipient per day: for each tenant that has to do with its domain,
 * and for all others together.
 */
const MAILS_PER_HOUR = 5
const MAILS_PER_RECIPIENT_AND_DAY = 3
const HOUR_MS = 3_600_000

type Sender = Prisma.EmailSenderGetPayload<object>

/** The senders of a tenant's emails. The email consumer sends and answers their verification links. */
export const emailSenderRoutes = ({
  projectRoute,
  db,
  clock,
  rateLimiter,
  quotas,
}: ManagementDeps): Route[] => {
  const count = (bucket: string, key: string, limit: number, windowMs: number): Promise<void> => {
    const message = 'Too many sender verification emails were requested'
    return requireAllowed(rateLimiter, { bucket, key, limit, windowMs, message })
  }

  /** Whether the tenant has proved the domain of a sender, or a member has confirmed an address in it. */
  const isOwn = async (tenantId: string, { recipient }: { recipient: string }): Promise<boolean> => {
    const domain = recipient.slice(recipient.lastIndexOf('@') + 1)
    const proved = await db.prisma.tenantDomain.findFirst({
      where: { tenantId, domain, verifiedAt: { not: null } },
    })
    if (proved) return true
    const member = await db.prisma.projectMember.findFirst({
      where: {
        project: { tenantId },
        role: { in: ['admin', 'owner'] },
        user: { email: { endsWith: `@${domain}` }, emailVerifiedAt: { not: null } },
      },
    })
    return member !== null
  }

  return [
    projectRoute(createEmailSender, async ({ actor: { tenantId }, body }) => {
      const read = parseSender(body.sender)
      if (!read)
        throw unprocessable(
          'sender',
          'sender',
          'must be an address such as hello@shop.example or a domain such as shop.example',
          body.sender,
        )
      const known = await db.prisma.emailSender.findUnique({
        where: { tenantId_sender: { tenantId, sender: read.sender } },
      })
      if (known?.verifiedAt) return { body: view(known) }
      await count('sender-mails', tenantId, MAILS_PER_HOUR, HOUR_MS)
      // A stranger's requests must not use up those of a tenant that has to do with the domain.
      const mailbox = (await isOwn(tenantId, read)) ? `${tenantId}:${read.recipient}` : read.recipient
      await count('sender-recipient', mailbox, MAILS_PER_RECIPIENT_AND_DAY, 24 * HOUR_MS)
      return db.prisma.$transaction(async (tx) => {
        await lockQuota(tx, tenantId, 'emailSenders')
        const where = { tenantId_sender: { tenantId, sender: read.sender } }
        const found = await tx.emailSender.findUnique({ where })
        const mail = { mailDueAt: new Date(clock()), mailAttempts: 0, mailError: null }
        if (found?.verifiedAt) return { body: view(found) }
        if (found) return { body: view(await tx.emailSender.update({ where, data: mail })) }
        const senders = await tx.emailSender.count({ where: { tenantId } })
        requireWithinQuota(quotas, 'emailSenders', senders + 1)
        const data = { id: uuidv7(), tenantId, ...read, ...mail }
        return { status: 201, body: view(await tx.emailSender.create({ data })) }
      })
    }),
    projectRoute(listEmailSenders, async ({ actor: { tenantId }, query }) => ({
      body: await pageOf(query, (page) => db.prisma.emailSender.findMany(page({ tenantId })), view),
    })),
    projectRoute(deleteEmailSender, async ({ actor: { tenantId }, id, requireMatch }) => {
      await db.prisma.$transaction(async (tx) => {
        await lockRow(tx, 'email.senders', id)
        requireMatch(view(requireFound(await tx.emailSender.findFirst({ where: { id, tenantId } }))))
        await tx.emailSender.delete({ where: { id } })
      })
      return { status: 204 }
    }),
  ]
}

const view = ({ id, sender, recipient, mailError, verifiedAt, createdAt }: Sender) => ({
  id,
  sender,
  recipient,
  status: verifiedAt ? 'verified' : 'pending',
  mailError,
  verifiedAt,
  createdAt,
})
