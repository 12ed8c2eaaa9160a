import type { Database } from '@waymark/database'
import { comparableAddress } from '@waymark/domain/email'
import type { PoolClient } from 'pg'
import { findClickIds, type PersonEvents } from './person-events.ts'
import {
  bindPerson,
  type PersonalData,
  type PersonParameters,
  personalData,
} from './personal-data-queries.ts'

/** Rows in memory at a time. */
const FETCH_ROWS = 100

const PERSON = `
  WITH profiles AS (
    SELECT p.id FROM ingest.profiles asked
    JOIN ingest.profiles p ON p.project_id = asked.project_id
      AND (p.id = coalesce(asked.merged_into, asked.id) OR p.merged_into = coalesce(asked.merged_into, asked.id))
    WHERE asked.project_id = $1 AND asked.id = $2
  ), known AS (
    SELECT kind, value FROM ingest.identities WHERE project_id = $1 AND profile_id IN (SELECT id FROM profiles)
  )
  SELECT ARRAY(SELECT id FROM profiles) AS profile_ids,
    ARRAY(SELECT value FROM known WHERE kind = 'visitor') AS visitor_ids,
    ARRAY(SELECT value FROM known WHERE kind = 'user') AS user_ids,
    ARRAY(
      SELECT traits->>'email' FROM ingest.profiles
      WHERE project_id = $1 AND id IN (SELECT id FROM profiles) AND traits->>'email' IS NOT NULL
      UNION SELECT recipient FROM email.deliveries
      WHERE project_id = $1 AND profile_id IN (SELECT id FROM profiles) AND recipient IS NOT NULL
    ) AS addresses`

type PersonRow = { profile_ids: string[]; visitor_ids: string[]; user_ids: string[]; addresses: string[] }

/** The ids and addresses of a person, by their profile or one that was merged into it. `undefined` when it does not exist. */
export const findPerson = async (
  { pool }: Pick<Database, 'pool'>,
  { projectId, profileId }: { projectId: string; profileId: string },
): Promise<PersonParameters | undefined> => {
  const { rows } = await pool.query<PersonRow>(PERSON, [projectId, profileId])
  const [row] = rows
  if (!row || row.profile_ids.length === 0) return undefined
  const { profile_ids: profileIds, visitor_ids: visitorIds, user_ids: userIds } = row
  const addresses = row.addresses.map(comparableAddress)
  return { projectId, profileIds, visitorIds, userIds, addresses, erasedAt: new Date() }
}

type ExportDeps = { db: Pick<Database, 'pool'>; events: PersonEvents }

/**
 * Exports all data of a person as pieces of one JSON object, with an array for each kind of data. Reads one snapshot of
 * the primary database, a hundred rows at a time, and holds a connection until it ends.
 */
export async function* exportPerson(
  { db: { pool }, events }: ExportDeps,
  person: PersonParameters,
  data: readonly PersonalData[] = personalData,
): AsyncGenerator<string, void, undefined> {
  const parameters = { ...person, clickIds: await findClickIds(events, person) }
  const client = await pool.connect()
  let broken = true
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    yield `{"exportedAt":${JSON.stringify(new Date())}`
    for (const { name, read } of data) {
      if (read === undefined) continue
      yield `,${JSON.stringify(name)}:[`
      let first = true
      const rows =
        typeof read === 'string' ? rowsOf(client, bindPerson(read, parameters)) : read(events, person)
      for await (const row of rows) {
        yield `${first ? '' : ','}${JSON.stringify(row)}`
        first = false
      }
      yield ']'
    }
    yield '}'
    await client.query('COMMIT')
    broken = false
  } finally {
    // When the reader stops early, the transaction is still open, so the connection is closed.
    client.release(broken)
  }
}

async function* rowsOf(client: PoolClient, query: { text: string; values: unknown[] }) {
  await client.query({ ...query, text: `DECLARE export NO SCROLL CURSOR FOR ${query.text}` })
  for (let fetched = FETCH_ROWS; fetched === FETCH_ROWS; ) {
    const { rows } = await client.query<Record<string, unknown>>(`FETCH ${FETCH_ROWS} FROM export`)
    fetched = rows.length
    for (const row of rows) yield inCamelCase(row)
  }
  await client.query('CLOSE export')
}

const inCamelCase = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )
