import { everyMs, type Loop, type Platform } from '@waymark/service-kit'

const INTERVAL_MS = 10_000

// Who left the project gets no email; one of its owners does instead.
const ADDRESS = `
  UPDATE webhook.webhooks w SET notice_recipient = found.email,
    notice_due_at = CASE WHEN found.email IS NOT NULL THEN w.notice_due_at END
  FROM (
    SELECT due.id, (
      SELECT u.email FROM core.project_members m JOIN core.users u ON u.id = m.user_id
      WHERE m.project_id = due.project_id AND (m.user_id = due.owner_id OR m.role = 'owner')
      ORDER BY (m.user_id = due.owner_id) DESC NULLS LAST, m.user_id LIMIT 1) AS email
    FROM webhook.webhooks due WHERE due.notice_due_at IS NOT NULL AND due.deleted_at IS NULL AND due.notice_recipient IS NULL
    ORDER BY due.notice_due_at LIMIT 100
  ) AS found
  WHERE w.id = found.id AND w.notice_recipient IS NULL`

/**
 * Fills in who is mailed that a webhook was paused, or that its creator left. Only this service reads accounts; the email consumer sends the email.
 */
export const addressWebhookNotices = ({ db }: Pick<Platform, 'db'>): Loop =>
  everyMs('webhook-notices', INTERVAL_MS, () => db.pool.query(ADDRESS))
