import type { ClientBase } from 'pg'
import { erasureHash } from '../erasure/index.ts'
import type { ErasureJob } from './erasure-job-queries.ts'

const ADD = `
  INSERT INTO ingest.erasure_records (id, project_id, people, erased_at, in_archive, removed)
  SELECT $1, $2::uuid, ARRAY(
    SELECT ${erasureHash('given')} FROM (
      SELECT $2::uuid AS project_id, 'visitor' AS kind, value FROM unnest($3::text[]) AS value
      UNION ALL
      SELECT $2::uuid, 'user', value FROM unnest($4::text[]) AS value) AS given
    ORDER BY 1
  ), $5, $6, $7`

/** Begins the record of what an erasure removes. The profiles and ids are removed in its transaction. */
export const addErasureRecord = async (
  client: ClientBase,
  {
    id,
    projectId,
    profileIds,
    visitorIds,
    userIds,
    erasedAt,
    inArchive,
  }: ErasureJob & { inArchive: boolean },
): Promise<void> => {
  const removed = { profiles: profileIds.length, identities: visitorIds.length + userIds.length }
  await client.query(ADD, [id, projectId, visitorIds, userIds, erasedAt, inArchive, removed])
}

const COUNT = `
  UPDATE ingest.erasure_records
  SET removed = jsonb_set(removed, ARRAY[$2], to_jsonb(coalesce((removed->>$2)::int, 0) + $3::int)) WHERE id = $1`

/** Adds to the number of removed rows of one kind of data, in the transaction that removes them. */
export const countRemoved = async (
  client: ClientBase,
  { id }: ErasureJob,
  name: string,
  rows: number,
): Promise<void> => {
  await client.query(COUNT, [id, name, rows])
}
