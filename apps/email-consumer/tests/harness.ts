import { openDatabase } from '@waymark/database'
import { createTestDatabase } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import type { HandOver, MailTransport, OutgoingMail } from '../src/transport.ts'

type DeliveryRow = {
  id: string
  trigger_id: string
  profile_id: string | null
  recipient: string | null
  status: string
  reason: string | null
  attempts: number
  context: object | null
  next_attempt_at: Date | null
  sent_at: Date | null
}

/** A transport that keeps what it sends in `sent` and answers with the current outcome. */
export const recordMails = (sent: OutgoingMail[], outcome: () => HandOver): MailTransport => ({
  send: async (mail) => {
    sent.push(mail)
    return outcome()
  },
  close: async () => {},
})

/** A database with a project, and helpers to insert the data of emails. */
export const openHarness = async () => {
  const database = await createTestDatabase()
  const open = () =>
    openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
  const db = open()
  const tenant = await db.prisma.tenant.create({ data: { id: uuidv7(), name: 'Tenant' } })

  const newProject = async (): Promise<string> =>
    (await db.prisma.project.create({ data: { id: uuidv7(), tenantId: tenant.id, name: 'Shop <&>' } })).id
  const projectId = await newProject()

  return {
    db,
    url: database.url,
    /** Separate connections, like another process. */
    open,
    projectId,
    newProject,
    newTrigger: async (fields: Partial<Parameters<typeof db.prisma.emailTrigger.create>[0]['data']> = {}) => {
      const { id } = await db.prisma.emailTrigger.create({
        data: {
          id: uuidv7(),
          projectId,
          name: 'Trigger',
          eventName: 'signed_up',
          subject: 'Hi {{traits.name}}',
          html: '<p>Hello {{traits.name}} of {{project.name}}</p>',
          status: 'active',
          activatedAt: new Date(0),
          ...(fields as object),
        },
      })
      return id
    },
    newProfile: async (traits: Record<string, string>, fields: object = {}): Promise<string> => {
      const id = uuidv7()
      await db.prisma.profile.create({ data: { id, projectId, bucketingId: id, traits, ...fields } })
      return id
    },
    /** Due deliveries, one per recipient. */
    enqueue: async (
      triggerId: string,
      recipients: readonly string[],
      fields: object = {},
    ): Promise<string[]> => {
      const ids = recipients.map(() => uuidv7())
      await db.prisma.emailDelivery.createMany({
        data: recipients.map((recipient, index) => ({
          id: ids[index] ?? '',
          projectId,
          triggerId,
          eventKey: uuidv7(),
          eventId: `event-${index}`,
          recipient,
          status: 'pending',
          nextAttemptAt: new Date(),
          context: { traits: { name: 'Ann' }, event: { eventId: `event-${index}` }, profile: {} },
          ...fields,
        })),
      })
      return ids
    },
    rows: async (triggerId: string): Promise<DeliveryRow[]> =>
      (
        await db.pool.query<DeliveryRow>('SELECT * FROM email.deliveries WHERE trigger_id = $1 ORDER BY id', [
          triggerId,
        ])
      ).rows,
    /** Makes everything due and ends every lease, as if enough time had passed. */
    letTimePass: () =>
      db.pool.query(
        `UPDATE email.deliveries SET next_attempt_at = now() - interval '1 s' WHERE next_attempt_at IS NOT NULL`,
      ),
    close: async () => {
      await db.close()
      await database.drop()
    },
  }
}

export type Harness = Awaited<ReturnType<typeof openHarness>>
