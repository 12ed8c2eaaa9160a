import type { Pool } from 'pg'

/** A profile at the time of reading. */
export type Person = { profileId: string; userId: string | null; traits: Record<string, unknown> }
type Row = { asked: string; id: string; user_id: string | null; traits: Record<string, unknown> }

const READ = `
  SELECT p.id AS asked, known.id, known.user_id, known.traits
  FROM unnest($1::uuid[], $2::uuid[]) AS wanted (project_id, id)
  JOIN ingest.profiles p ON p.id = wanted.id AND p.project_id = wanted.project_id
  JOIN ingest.profiles known ON known.id = coalesce(p.merged_into, p.id)`

/**
 * Reads the profiles of events, and for a merged one the profile that it was merged into. An identify call is applied
 * before it is answered, so every identify that preceded an event is visible.
 */
export const readPeople = async (
  pool: Pool,
  wanted: readonly { projectId: string; profileId: string }[],
): Promise<Map<string, Person>> => {
  const { rows } = await pool.query<Row>({
    name: 'read-people',
    text: READ,
    values: [wanted.map(({ projectId }) => projectId), wanted.map(({ profileId }) => profileId)],
  })
  return new Map(
    rows.map(({ asked, id, user_id, traits }) => [asked, { profileId: id, userId: user_id, traits }]),
  )
}
