import { bulkColumns } from '@waymark/database'
import type { ClientBase } from 'pg'

/** A delivery before repeats and cooldowns are checked. */
export type NewDelivery = {
  id: string
  projectId: string
  triggerId: string
  eventKey: string
  eventId: string
  /** RFC 3339. */
  receivedAt: string
  profileId: string | null
  recipient: string | null
  status: 'pending' | 'skipped_no_email' | 'suppressed'
  reason: string | null
  /** The variables of the templates, for pending deliveries. */
  context: object | null
  cooldownSeconds: number
}

const columns = bulkColumns<NewDelivery>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'trigger_id', type: 'uuid', of: ({ triggerId }) => triggerId },
  { name: 'event_key', type: 'uuid', of: ({ eventKey }) => eventKey },
  { name: 'event_id', type: 'text', of: ({ eventId }) => eventId },
  { name: 'profile_id', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'recipient', type: 'text', of: ({ recipient }) => recipient },
  { name: 'status', type: 'text', of: ({ status }) => status },
  { name: 'reason', type: 'text', of: ({ reason }) => reason },
  { name: 'context', type: 'jsonb', of: ({ context }) => context && JSON.stringify(context) },
  { name: 'received_at', type: 'timestamptz', of: ({ receivedAt }) => receivedAt },
])

const STORED = `id, project_id, trigger_id, event_key, event_id, profile_id, recipient, status, reason, context`

// Joins the trigger's row, so that a trigger that has just been paused sends nothing.
const INSERT = `
  INSERT INTO email.deliveries (${STORED}, next_attempt_at)
  SELECT ${STORED.replaceAll(/\w+/g, 'given.$&')}, CASE given.status WHEN 'pending' THEN now() END
  FROM ${columns.unnest} AS given (${columns.names})
  JOIN email.triggers t ON t.id = given.trigger_id AND t.status = 'active' AND t.activated_at <= given.received_at
  ORDER BY given.trigger_id, given.event_key
  ON CONFLICT (trigger_id, event_key) DO NOTHING RETURNING id`

// The conflicting row is locked and rechecked, so one of several concurrent statements starts the cooldown.
const START_COOLDOWNS = `
  INSERT INTO email.cooldowns (trigger_id, profile_id, started_at)
  SELECT trigger_id, profile_id, clock_timestamp() FROM unnest($1::uuid[], $2::uuid[]) AS given (trigger_id, profile_id)
  ORDER BY trigger_id, profile_id
  ON CONFLICT (trigger_id, profile_id) DO UPDATE SET started_at = clock_timestamp()
  WHERE cooldowns.started_at + make_interval(secs =>
    (SELECT t.cooldown_seconds FROM email.triggers t WHERE t.id = cooldowns.trigger_id)) <= clock_timestamp()
  RETURNING trigger_id, profile_id`

const COOL_DOWN = `
  UPDATE email.deliveries SET status = 'cooldown', reason = $2, next_attempt_at = NULL, context = NULL
  WHERE id = ANY($1::uuid[])`
const COOLDOWN_REASON = 'the profile got an email of this trigger within its cooldown'

/**
 * Stores deliveries, each once per trigger and event, and resolves to the new ones. A new delivery within the cooldown of
 * its profile gets the status `cooldown`.
 */
export const storeDeliveries = async (
  client: ClientBase,
  deliveries: readonly NewDelivery[],
): Promise<NewDelivery[]> => {
  const { rows } = await client.query<{ id: string }>({
    name: 'store-deliveries',
    text: INSERT,
    values: columns.values(deliveries),
  })
  const stored = new Set(rows.map(({ id }) => id))
  const fresh = deliveries.filter(({ id }) => stored.has(id))
  await coolDown(client, fresh)
  return fresh
}

const coolDown = async (client: ClientBase, fresh: readonly NewDelivery[]): Promise<void> => {
  const contenders = fresh.filter(
    ({ status, cooldownSeconds }) => status === 'pending' && cooldownSeconds > 0,
  )
  if (contenders.length === 0) return
  const firsts = new Map<string, NewDelivery>()
  for (const delivery of contenders) {
    const key = cooldownKey(delivery.triggerId, delivery.profileId)
    if (!firsts.has(key)) firsts.set(key, delivery)
  }
  const asking = [...firsts.values()]
  const { rows } = await client.query<{ trigger_id: string; profile_id: string }>({
    name: 'start-cooldowns',
    text: START_COOLDOWNS,
    values: [asking.map(({ triggerId }) => triggerId), asking.map(({ profileId }) => profileId)],
  })
  const winners = new Set(
    rows.map(({ trigger_id, profile_id }) => firsts.get(cooldownKey(trigger_id, profile_id))),
  )
  const losers = contenders.filter((delivery) => !winners.has(delivery))
  if (losers.length > 0) await client.query(COOL_DOWN, [losers.map(({ id }) => id), COOLDOWN_REASON])
}

const cooldownKey = (triggerId: string, profileId: string | null): string => `${triggerId}/${profileId}`
