import { listProfiles, type ProfileQuery, type ProfileView, type Touch } from '@waymark/contracts'
import type { Identity } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import type { ProjectRouteFactory } from './project-route.ts'
import { unprocessable } from './validation.ts'

const FIND = `
  SELECT p.id, p.user_id, p.traits, p.first_touch, p.last_touch, p.created_at, p.updated_at,
    ARRAY(SELECT value FROM ingest.identities WHERE profile_id = p.id AND kind = 'visitor' ORDER BY value LIMIT 1000)
      AS visitor_ids
  FROM ingest.identities i JOIN ingest.profiles p ON p.id = i.profile_id
  WHERE i.project_id = $1 AND i.kind = $2 AND i.value = $3`

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
export const profileRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(listProfiles, async ({ projectId, query }) => {
    const data = await findProfiles(db.pool, { projectId, ...parseProfileQuery(query) })
    return { body: { data, nextCursor: null } }
  }),
]

/**
 * Reads whom a profiles request asks for.
 * @throws AppError unprocessable unless that is one user or one visitor
 */
export const parseProfileQuery = ({ userId, visitorId }: ProfileQuery): Omit<Identity, 'projectId'> => {
  if (userId !== undefined && visitorId === undefined) return { kind: 'user', value: userId }
  if (visitorId !== undefined && userId === undefined) return { kind: 'visitor', value: visitorId }
  if (userId === undefined) throw unprocessable('userId', 'required', 'or visitorId is required')
  throw unprocessable('visitorId', 'exclusive', 'cannot be combined with userId')
}

const findProfiles = async (pool: Pool, { projectId, kind, value }: Identity): Promise<ProfileView[]> => {
  const { rows } = await pool.query<Row>({
    name: 'find-profile',
    text: FIND,
    values: [projectId, kind, value],
  })
  return rows.map((row) => ({
    id: row.id,
    userId: row.user_id,
    visitorIds: row.visitor_ids,
    traits: row.traits,
    firstTouch: row.first_touch,
    lastTouch: row.last_touch,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }))
}
