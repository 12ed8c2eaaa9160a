import type { Database } from '@waymark/database'
import { comparableAddress } from '@waymark/domain/email'
import type { EventQueries, EventWrites } from '@waymark/event-store'
import type { ClientBase } from 'pg'
import { dequeueForGood } from '../archive/index.ts'
import { type AboutPeople, aboutAnything, parseRecord } from '../erasure/index.ts'
import type { ErasureJob } from './erasure-job-queries.ts'

/** The stores of a purge. */
export type PurgeDeps = {
  db: Database
  eventStore: Pick<EventWrites, 'eraseEvents' | 'eraseProfiles'> &
    Pick<EventQueries, 'readEvents' | 'readPlaces'>
  /** Deletes the copies of the messages of deliveries, where this process keeps any. It is idempotent. */
  deleteMailCopies?: ((deliveryIds: readonly string[]) => Promise<void>) | undefined
}

const ROWS = 1_000

/** The number of rows that were removed or anonymized. Others are looked for until there are none, or `left` says so. */
export type Purged = { removed: number; left?: false }
const NONE: Purged = { removed: 0 }

/**
 * Erases up to a thousand events of a person in the event store, in one search. Their ids are kept in the primary
 * database, so that an event that is sent again is not stored.
 */
export const purgeEvents = async (
  { db, eventStore }: Pick<PurgeDeps, 'db' | 'eventStore'>,
  client: ClientBase,
  { projectId, profileIds }: ErasureJob,
): Promise<Purged> => {
  let purged = 0
  const portion = () => ROWS - purged
  for await (const { places } of eventStore.readPlaces({ projectId, profileIds, portion })) {
    // PostgreSQL ends a transaction that does nothing for a minute, and a search may take longer.
    await client.query('SELECT')
    if (places.length === 0) continue
    // Committed before the erasure, or the archive would wait for ever for an event whose place a crash has left.
    await dequeueForGood(db.pool, projectId, places)
    await eventStore.eraseEvents(places.map(({ eventKey }) => ({ projectId, eventKey })))
    purged += places.length
    if (purged === ROWS) return { removed: purged }
  }
  return { removed: purged, left: false }
}

const FIND_EVENTS = `
  SELECT received_at, event_key FROM ingest.events WHERE project_id = $1 AND profile_id = ANY($2::uuid[]) LIMIT ${ROWS}`
const DELETE_EVENTS = `
  DELETE FROM ingest.events USING unnest($2::timestamptz[], $3::uuid[]) AS gone (received_at, event_key)
  WHERE events.project_id = $1 AND events.received_at = gone.received_at AND events.event_key = gone.event_key`

/**
 * Erases up to a thousand events of a person in both stores, as found in the primary database: those of an earlier version
 * may be in the event store without a place.
 */
export const purgeOldEvents = async (
  { eventStore }: Pick<PurgeDeps, 'eventStore'>,
  client: ClientBase,
  { projectId, profileIds }: ErasureJob,
): Promise<Purged> => {
  const { rows } = await client.query<{ received_at: Date; event_key: string }>(FIND_EVENTS, [
    projectId,
    profileIds,
  ])
  if (rows.length === 0) return NONE
  const places = rows.map(({ received_at, event_key }) => ({
    receivedAt: received_at.getTime(),
    eventKey: event_key,
  }))
  await dequeueForGood(client, projectId, places)
  await eventStore.eraseEvents(rows.map(({ event_key }) => ({ projectId, eventKey: event_key })))
  const times = rows.map(({ received_at }) => received_at)
  const keys = rows.map(({ event_key }) => event_key)
  const { rowCount } = await client.query(DELETE_EVENTS, [projectId, times, keys])
  return { removed: rowCount ?? 0 }
}

/** Deletes the profiles of a person from the event store, all at once. */
export const purgeAnalyticsProfiles = async (
  { eventStore }: Pick<PurgeDeps, 'eventStore'>,
  _client: ClientBase,
  { projectId, profileIds }: ErasureJob,
): Promise<Purged> => {
  await eventStore.eraseProfiles(profileIds.map((profileId) => ({ projectId, profileId })))
  return NONE
}

const LOCK_DELIVERIES = `
  SELECT id FROM email.deliveries WHERE project_id = $1 AND profile_id = ANY($2::uuid[])
  ORDER BY id LIMIT ${ROWS} FOR UPDATE`
// Waiting deliveries are canceled, and those in progress become `unconfirmed`. The counts of triggers do not change.
const MAKE_ANONYMOUS = `
  UPDATE email.deliveries SET profile_id = NULL, recipient = NULL, context = NULL, reason = NULL,
    event_id = event_key::text, next_attempt_at = NULL, attempt_token = NULL,
    status = CASE status WHEN 'pending' THEN 'canceled' WHEN 'sending' THEN 'unconfirmed' ELSE status END
  WHERE id = ANY($1::uuid[])`

/**
 * Anonymizes up to a thousand deliveries to a person, after deleting the copies of their messages, which are found by the
 * deliveries. A copy that is written at the same time is deleted by its sender, which waits for the lock.
 */
export const purgeEmailDeliveries = async (
  { deleteMailCopies }: Pick<PurgeDeps, 'deleteMailCopies'>,
  client: ClientBase,
  { projectId, profileIds }: ErasureJob,
): Promise<Purged> => {
  const { rows } = await client.query<{ id: string }>(LOCK_DELIVERIES, [projectId, profileIds])
  if (rows.length === 0) return NONE
  const ids = rows.map(({ id }) => id)
  await deleteMailCopies?.(ids)
  const { rowCount } = await client.query(MAKE_ANONYMOUS, [ids])
  return { removed: rowCount ?? 0 }
}

const FIND_RECIPIENTS = `
  SELECT DISTINCT recipient FROM email.deliveries
  WHERE project_id = $1 AND profile_id = ANY($2::uuid[]) AND recipient IS NOT NULL`
const FORGET_DETAILS = `
  UPDATE email.suppressions SET detail = NULL
  WHERE project_id = $1 AND detail IS NOT NULL AND address = ANY($2::text[])`

/** Removes what mail servers reported about the addresses that emails were sent to. */
export const purgeSuppressionDetails = async (
  _deps: PurgeDeps,
  client: ClientBase,
  { projectId, profileIds }: ErasureJob,
): Promise<Purged> => {
  const { rows } = await client.query<{ recipient: string }>(FIND_RECIPIENTS, [projectId, profileIds])
  const addresses = rows.map(({ recipient }) => comparableAddress(recipient))
  const { rowCount } = await client.query(FORGET_DETAILS, [projectId, addresses])
  return { removed: rowCount ?? 0 }
}

const PAGE_ROWS = 200
// Qualified, because `"offset"` alone is the selected text.
const PAGE = `
  SELECT consumer_group, topic, "partition", "offset"::text AS "offset", value FROM ingest.dead_letters
  WHERE project_id = $1 AND (consumer_group, topic, "partition", "offset") > ($2, $3, $4::int, $5::bigint)
  ORDER BY consumer_group, topic, "partition", dead_letters."offset" LIMIT ${PAGE_ROWS}`
const DELETE_DEAD_LETTER = `
  DELETE FROM ingest.dead_letters
  WHERE consumer_group = $1 AND topic = $2 AND "partition" = $3 AND "offset" = $4::bigint`

type DeadLetterRow = {
  consumer_group: string
  topic: string
  partition: number
  offset: string
  value: Buffer
}

/** Deletes all dead letters of a person. Each one is parsed; those that cannot be parsed are kept. */
export const purgeDeadLetters = async (
  _deps: unknown,
  client: ClientBase,
  job: ErasureJob,
): Promise<Purged> => {
  let purged = 0
  for (
    let last: Omit<DeadLetterRow, 'value'> = { consumer_group: '', topic: '', partition: -1, offset: '-1' };
    ;
  ) {
    const { consumer_group, topic, partition, offset } = last
    const { rows } = await client.query<DeadLetterRow>(PAGE, [
      job.projectId,
      consumer_group,
      topic,
      partition,
      offset,
    ])
    for (const row of rows) {
      const value = parseRecord(row.value)
      if (!isAbout(job, aboutAnything(value)) && !namesProfile(job, value)) continue
      await client.query(DELETE_DEAD_LETTER, [row.consumer_group, row.topic, row.partition, row.offset])
      purged++
    }
    const end = rows.at(-1)
    if (rows.length < PAGE_ROWS || !end) return { removed: purged }
    last = end
  }
}

const isAbout = ({ visitorIds, userIds, erasedAt }: ErasureJob, about: AboutPeople | undefined): boolean =>
  about !== undefined &&
  Date.parse(about.receivedAt) <= erasedAt.getTime() &&
  about.people.some(({ kind, value }) => (kind === 'user' ? userIds : visitorIds).includes(value))

/** Whether a record is a changed profile of the person. */
const namesProfile = ({ profileIds }: ErasureJob, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'profileId' in value &&
  'changedAt' in value &&
  profileIds.some((id) => id === value.profileId)
