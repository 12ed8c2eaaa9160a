import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { type EventRow, eventRows, type ProfileRow, profileRow } from '../rows.ts'
import { CHANNEL_RULES } from '../sql/channel-queries.ts'
import { createVisitDerivation, deriveStatements, eventsOfEndedDays } from '../sql/derive-visit-queries.ts'
import type { Database } from '../sql/dialect.ts'
import { storedVisitor } from '../sql/visit-part-queries.ts'
import type { EventKey, EventWrites } from '../store.ts'
import { duckdbDialect } from './dialect.ts'
import type { DuckDBFile, Statement } from './file.ts'

/** The columns of a table for rows in JSON, with their types. */
const EVENT_TYPES: Record<keyof EventRow, unknown> = {
  project_id: 'VARCHAR',
  event_key: 'UUID',
  time: 'TIMESTAMP',
  event_name: 'VARCHAR',
  profile_id: 'UUID',
  visitor_id: 'VARCHAR',
  user_id: 'VARCHAR',
  session_id: 'VARCHAR',
  bot: 'BOOLEAN',
  browser: 'VARCHAR',
  os: 'VARCHAR',
  device: 'VARCHAR',
  country: 'VARCHAR',
  city: 'VARCHAR',
  path: 'VARCHAR',
  referrer_host: 'VARCHAR',
  utm_source: 'VARCHAR',
  utm_medium: 'VARCHAR',
  utm_campaign: 'VARCHAR',
  utm_term: 'VARCHAR',
  utm_content: 'VARCHAR',
  click_id: 'VARCHAR',
  link: 'VARCHAR',
  link_campaign: 'VARCHAR',
  warnings: 'INTEGER',
  conversions: [{ selector_id: 'UUID', amount: 'BIGINT', currency: 'VARCHAR' }],
  properties: 'JSON',
  received_at: 'TIMESTAMP',
  browser_version: 'VARCHAR',
  os_version: 'VARCHAR',
  referrer: 'VARCHAR',
  details: 'VARCHAR',
}
const PROFILE_TYPES: Record<keyof ProfileRow, string> = {
  project_id: 'VARCHAR',
  profile_id: 'UUID',
  merged_into: 'UUID',
  traits: 'JSON',
  version: 'BIGINT',
}
const VISITOR_TYPES = { project_id: 'VARCHAR', time: 'TIMESTAMP', profile_id: 'UUID', visitor_id: 'VARCHAR' }
const KEY_TYPES = { project_id: 'VARCHAR', event_key: 'UUID' }
const PROFILE_KEY_TYPES = { project_id: 'VARCHAR', profile_id: 'UUID' }

/** Rows from one JSON text, as a table expression. */
const rowsOf = (types: object, parameter = '$1'): string =>
  `(SELECT unnest(r) FROM (SELECT unnest(from_json(${parameter}, '${JSON.stringify([types])}')) AS r))`

const names = (types: object): string =>
  Object.keys(types)
    .map((name) => `"${name}"`)
    .join(', ')

// Looks for repeats only within the times of the batch, so that DuckDB reads few blocks of a large table.
const STORE_EVENTS = `
  INSERT INTO events (${names(EVENT_TYPES)}, erased)
  SELECT ${names(EVENT_TYPES)}, false FROM ${rowsOf(EVENT_TYPES)} AS new
  WHERE NOT EXISTS (
    SELECT 1 FROM events AS known
    WHERE known."time" BETWEEN $2::TIMESTAMP AND $3::TIMESTAMP
      AND known.project_id = new.project_id AND known.event_key = new.event_key AND known."time" = new."time"
  )`

// Within the times of the batch, like repeats.
const COMPLETE_EVENTS = `
  UPDATE events SET received_at = new.received_at, browser_version = new.browser_version, os_version = new.os_version,
    referrer = new.referrer, click_id = new.click_id, details = new.details
  FROM ${rowsOf(EVENT_TYPES)} AS new
  WHERE events."time" BETWEEN $2::TIMESTAMP AND $3::TIMESTAMP AND events.project_id = new.project_id
    AND events.event_key = new.event_key AND events."time" = new."time" AND events.details IS NULL AND NOT events.erased`

type NameRow = { project_id: string; event_key: string; event_name: string }
const EVENT_NAMES = `
  SELECT e.project_id, e.event_key::VARCHAR AS event_key, e.event_name
  FROM events AS e
  WHERE (e.project_id, e.event_key) IN (SELECT (project_id, event_key) FROM ${rowsOf(KEY_TYPES, '$keys')} AS named)
    AND (e.details IS NOT NULL OR e.erased)`

const DROP_OLDER_PROFILES = `
  DELETE FROM profiles USING ${rowsOf(PROFILE_TYPES)} AS new
  WHERE profiles.project_id = new.project_id AND profiles.profile_id = new.profile_id
    AND profiles.version <= new.version`
const STORE_PROFILES = `
  INSERT INTO profiles (${names(PROFILE_TYPES)})
  SELECT ${names(PROFILE_TYPES)} FROM ${rowsOf(PROFILE_TYPES)} AS new
  WHERE NOT EXISTS (
    SELECT 1 FROM profiles AS known
    WHERE known.project_id = new.project_id AND known.profile_id = new.profile_id
  )
  QUALIFY row_number() OVER (PARTITION BY project_id, profile_id ORDER BY version DESC) = 1`

const WHERE_NAMED = `WHERE (project_id, event_key) IN (SELECT (project_id, event_key) FROM ${rowsOf(KEY_TYPES)} AS named)`
const ERASE_EVENTS = `DELETE FROM events ${WHERE_NAMED} AND len(conversions) = 0`
const ERASE_PERSON = `
  UPDATE events SET erased = true, profile_id = NULL, visitor_id = NULL, user_id = NULL, session_id = NULL,
    city = NULL, path = NULL, referrer = NULL, referrer_host = NULL, properties = '{}', received_at = NULL, details = NULL
  ${WHERE_NAMED} AND NOT erased`

// Everything before the end of the earliest day. The first condition on the time lets DuckDB skip later blocks. Erased
// events have no time of receipt.
const REMOVABLE = `project_id = $1 AND "time" < $2::TIMESTAMP AND (received_at IS NULL OR epoch_ms(received_at) < $3)`
const REMOVE_OLDEST_DAY = `
  DELETE FROM events WHERE ${REMOVABLE} AND "time" < (
    SELECT date_trunc('day', min("time")) + INTERVAL 1 DAY FROM events WHERE ${REMOVABLE}
  )`

const DAY = duckdbDialect.dayOf('e."time"')
// Later than the build of each day, even after the clock was set back.
const NEXT_VERSION = '(SELECT greatest(epoch_us(now()), coalesce(max(build), 0) + 1) FROM visit_days)'
const CHANGED_VISITORS = `
  SELECT DISTINCT e.project_id AS project_id, ${DAY} AS day, ${storedVisitor(duckdbDialect)} AS visitor`
const MARK_STORED = `
  INSERT INTO visit_changes SELECT *, ${NEXT_VERSION}
  FROM (${CHANGED_VISITORS} FROM ${rowsOf(VISITOR_TYPES)} AS e WHERE e.profile_id IS NOT NULL OR e.visitor_id IS NOT NULL)
  WHERE (project_id, day) IN (SELECT (project_id, day) FROM visit_days)`
const ERASED_VISITORS = `${CHANGED_VISITORS} FROM events AS e
  ${WHERE_NAMED} AND (e.profile_id IS NOT NULL OR e.visitor_id IS NOT NULL)`
const MARK_ERASED = `
  INSERT INTO visit_changes SELECT *, ${NEXT_VERSION} FROM (${ERASED_VISITORS})
  WHERE (project_id, day) IN (SELECT (project_id, day) FROM visit_days)`
const ERASE_PARTS = `
  DELETE FROM visit_parts WHERE (project_id, day, visitor) IN (SELECT (project_id, day, visitor) FROM (${ERASED_VISITORS}))`

// Before the events, of which none may be left to tell the day.
const OLDEST_DAY = `(SELECT ${duckdbDialect.dayOf('min("time")')} FROM events WHERE ${REMOVABLE})`
const REMOVE_VISITS = ['visit_days', 'visit_parts', 'visit_changes'].map(
  (table) => `DELETE FROM ${table} WHERE project_id = $1 AND day <= ${OLDEST_DAY}`,
)

const REPLACE_DAY = [
  'DELETE FROM visit_parts WHERE project_id = $1 AND day = $2 AND build <> $3',
  'DELETE FROM visit_changes WHERE project_id = $1 AND day = $2 AND $3 > 0',
  'DELETE FROM visit_days WHERE project_id = $1 AND day = $2 AND $3 > 0',
  `INSERT INTO visit_days VALUES ($1, $2, $3, ${CHANNEL_RULES})`,
]
const ERASE_PROFILES = `
  DELETE FROM profiles
  WHERE (project_id, profile_id) IN (SELECT (project_id, profile_id) FROM ${rowsOf(PROFILE_KEY_TYPES)} AS named)`

const keyRows = (keys: readonly EventKey[]): string =>
  JSON.stringify(keys.map(({ projectId, eventKey }) => ({ project_id: projectId, event_key: eventKey })))

/** The rows of a batch, and the first and last of their times. */
const valuesOf = (events: readonly EnrichedEvent[]): [string, string, string] => {
  const times = events.map(({ timestamp }) => timestamp).sort()
  return [JSON.stringify(eventRows(events)), times[0] ?? '', times.at(-1) ?? '']
}

/** Statements that mark the visitors of events as changed on days that were derived. */
const marksOf = (events: readonly EnrichedEvent[]): Statement[] => {
  const rows = eventsOfEndedDays(events).map(({ projectId, timestamp, profileId, visitorId }) => ({
    project_id: projectId,
    time: timestamp,
    profile_id: profileId,
    visitor_id: visitorId,
  }))
  return rows.length === 0 ? [] : [[MARK_STORED, [JSON.stringify(rows)]]]
}

/** The writer of the store. Each call is one transaction. */
export const createWrites = (file: DuckDBFile, database: Database): EventWrites => {
  return {
    storeEvents: async (events) => {
      if (events.length === 0) return
      await file.write([[STORE_EVENTS, valuesOf(events)], ...marksOf(events)])
    },
    completeEvents: async (events) => {
      if (events.length === 0) return
      const values = valuesOf(events)
      await file.write([[COMPLETE_EVENTS, values], [STORE_EVENTS, values], ...marksOf(events)])
    },
    deriveVisits: createVisitDerivation(database, async (due) => {
      const build = Date.now() * 1_000
      await file.write([
        ...deriveStatements(duckdbDialect, due, build).map(
          ({ text, bindings }): Statement => [text, bindings],
        ),
        ...REPLACE_DAY.map((text): Statement => [text, [due.projectId, due.day, BigInt(build)]]),
      ])
    }),
    findEventNames: async (keys) => {
      if (keys.length === 0) return []
      const found = await file.query<NameRow>('', EVENT_NAMES, { keys: keyRows(keys) })
      return found.map(({ project_id, event_key, event_name }) => ({
        projectId: project_id,
        eventKey: event_key,
        eventName: event_name,
      }))
    },
    storeProfiles: async (profiles) => {
      if (profiles.length === 0) return
      const rows = JSON.stringify(profiles.map(profileRow))
      await file.write([
        [DROP_OLDER_PROFILES, [rows]],
        [STORE_PROFILES, [rows]],
      ])
    },
    eraseEvents: async (events) => {
      if (events.length === 0) return
      const rows = keyRows(events)
      await file.write([
        [MARK_ERASED, [rows]],
        [ERASE_PARTS, [rows]],
        [ERASE_EVENTS, [rows]],
        [ERASE_PERSON, [rows]],
      ])
    },
    removeOldestDay: async ({ projectId, before, receivedBefore = Number.MAX_SAFE_INTEGER }) => {
      const values = [projectId, new Date(before).toISOString(), receivedBefore]
      return (await file.write([...REMOVE_VISITS, REMOVE_OLDEST_DAY].map((text) => [text, values]))) > 0
    },
    eraseProfiles: async (profiles) => {
      if (profiles.length === 0) return
      const rows = JSON.stringify(
        profiles.map(({ projectId, profileId }) => ({ project_id: projectId, profile_id: profileId })),
      )
      await file.write([[ERASE_PROFILES, [rows]]])
    },
  }
}
