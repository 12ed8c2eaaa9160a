import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { addressNotices } from './webhook-queries.ts'

const INTERVAL_MS = 10_000

/** Addresses notices about webhooks here, because the email consumer, which sends them, cannot read accounts. */
export const addressWebhookNotices = ({ db }: Pick<Platform, 'db'>): Loop =>
  everyMs('webhook-notices', INTERVAL_MS, () => addressNotices(db.pool))
