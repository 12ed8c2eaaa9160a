import type { ProfileView, Touch } from '@waymark/contracts'
import type { Identity } from '@waymark/domain'
import type { ClientBase, Pool } from 'pg'

const SELECT = `
  SELECT p.id, p.user_id, p.traits, p.first_touch, p.last_touch, p.created_at, p.updated_at,
    ARRAY(SELECT value FROM ingest.identities WHERE profile_id = p.id AND kind = 'visitor' ORDER BY value LIMIT 1000)
      AS visitor_ids`
const FIND = `${SELECT}
  FROM ingest.identities i JOIN ingest.profiles p ON p.id = i.profile_id
  WHERE i.project_id = $1 AND i.kind = $2 AND i.value = $3`
// No chain of merges is longer than one step.
const READ = `${SELECT}
  FROM ingest.profiles asked JOIN ingest.profiles p ON p.id = coalesce(asked.merged_into, asked.id)
  WHERE asked.project_id = $1 AND asked.id = $2`

type Row = {
  id: string
  user_id: string | null
  visitor_ids: string[]
  traits: ProfileView['traits']
  first_touch: Touch | null
  last_touch: Touch | null
  created_at: Date
  updated_at: Date
}

/** The profile that a user or visitor belongs to now: a list of one, or of none. */
export const findProfileOf = async (
  pool: Pool,
  { projectId, kind, value }: Identity,
): Promise<ProfileView[]> => {
  const { rows } = await pool.query<Row>({
    name: 'find-profile',
    text: FIND,
    values: [projectId, kind, value],
  })
  return rows.map(view)
}

/** The profile with an id, or the one that it was merged into; `undefined` when there is none. */
export const readProfile = async (
  db: Pool | ClientBase,
  projectId: string,
  id: string,
): Promise<ProfileView | undefined> => {
  const { rows } = await db.query<Row>({ name: 'read-profile', text: READ, values: [projectId, id] })
  return rows.map(view)[0]
}

const view = (row: Row): ProfileView => ({
  id: row.id,
  userId: row.user_id,
  visitorIds: row.visitor_ids,
  traits: row.traits,
  firstTouch: row.first_touch,
  lastTouch: row.last_touch,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})
