import { sentEmails } from '@waymark/contracts/topics'
import { addToOutbox } from '@waymark/pipeline'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'

/** A delivery that was sent or has bounced. */
export type ReportedEmail = {
  deliveryId: string
  projectId: string
  triggerId: string
  profileId: string | null
}

const LANE = 'emails'

/** Publishes what became of emails when the transaction of `client` commits. */
export const publishEmails = async (
  client: ClientBase,
  kind: 'sent' | 'bounced',
  emails: readonly ReportedEmail[],
): Promise<void> => {
  if (emails.length === 0) return
  const at = new Date().toISOString()
  await addToOutbox(
    client,
    LANE,
    sentEmails,
    emails.map(({ deliveryId, projectId, triggerId, profileId }) => ({
      key: `${projectId}:${deliveryId}`,
      value: { v: 1, kind, id: uuidv7(), projectId, deliveryId, triggerId, profileId, at },
    })),
  )
}
