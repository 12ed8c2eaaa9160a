import { AppError } from '@waymark/contracts/app-error'
import { CHALLENGE_MINUTES } from '@waymark/contracts/http/second-factor'
import type { Prisma } from '@waymark/database'
import { generateToken, hashAccessToken, hashToken } from '@waymark/domain/account'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Client } from '../http/request-parts.ts'

/** How long an unused session lasts, in ms. */
export const SESSION_MS = 7 * 24 * 3_600_000
/** Maximum age of a session that is used. */
const MAX_SESSION_DAYS = 30
/** Minimum time between two updates of a session's last use, in ms. */
const TOUCH_MS = 3_600_000
const MAX_USER_AGENT_LENGTH = 300
/** How long a sign-in waits for its second factor, in ms. */
export const CHALLENGE_MS = CHALLENGE_MINUTES * 60_000

/**
 * A session or personal access token, and its user.
 * - `renewed`: its expiry was extended, so its cookie must be renewed as well.
 * - `kind`: operations on sign-ins refuse access tokens.
 * - `verifiedAt`: when the user has last proved who they are, at the sign-in or later; null for an access token.
 * - `meetsSecondFactor`: the user has a second factor, or signed in with the provider of a tenant, which asks for its own.
 * - `identityId`: the identity with which it began at a provider of a tenant; null when it began with the password.
 * - `projectIds`: the projects in which it may be used; null for all of the user. After a sign-in with a provider those of
 *   the provider's tenant, because the provider could sign in as anyone. Otherwise those of tenants that require a provider
 *   are missing, except the user's own ones.
 */
export type Session = {
  id: string
  user: {
    id: string
    email: string
    name: string
    emailVerifiedAt: Date | null
    hasSecondFactor: boolean
    meetsSecondFactor: boolean
    createdAt: Date
  }
  verifiedAt: Date | null
  renewed: boolean
  kind: 'session' | 'access-token'
  identityId: string | null
  projectIds: readonly string[] | null
}

/** What a right password leads to: the token of a session, or of a sign-in that waits for its second factor. */
type PasswordSignIn =
  | { kind: 'session'; token: string }
  | { kind: 'challenge'; token: string; expiresAt: Date }

/** Whether a session or access token may be used in a project of its user. */
export const coversProject = ({ projectIds }: Pick<Session, 'projectIds'>, projectId: string): boolean =>
  projectIds === null || projectIds.includes(projectId)

/** The user of a session or access token, as the audit log records them. */
export const actorOf = ({ kind, id, user }: Pick<Session, 'kind' | 'id' | 'user'>) => ({
  kind: 'user' as const,
  id: user.id,
  accessTokenId: kind === 'access-token' ? id : null,
})

/** A sign-in that waits for its second factor. */
type Challenge = { id: string; user: Session['user'] }

const USER_COLUMNS = `
  u.id AS user_id, u.email, u.name, u.email_verified_at, u.created_at,
  EXISTS (SELECT FROM core.second_factors f WHERE f.user_id = u.id AND f.secret IS NOT NULL) AS has_second_factor`

/**
 * The condition of the sessions and access tokens that a session may see and end: all of the user, or after a sign-in with a
 * provider those that came from it.
 */
export const sameSignIn = ({ user, identityId }: Session) => ({
  userId: user.id,
  ...(identityId !== null && { identityId }),
})

/** The projects that a session or access token `s` of a user `u` may reach; NULL for all. */
const REACHED = (s: string) => `
  CASE WHEN ${s}.identity_id IS NOT NULL THEN ARRAY(
    SELECT p.id FROM core.user_identities i JOIN core.oidc_providers o ON o.id = i.provider_id
    JOIN core.projects p ON p.tenant_id = o.tenant_id WHERE i.id = ${s}.identity_id)
  WHEN EXISTS (
    SELECT FROM core.project_members m JOIN core.projects p ON p.id = m.project_id JOIN core.tenants r ON r.id = p.tenant_id
    WHERE m.user_id = u.id AND m.role <> 'owner' AND r.oidc_only)
  THEN ARRAY(
    SELECT p.id FROM core.project_members m JOIN core.projects p ON p.id = m.project_id JOIN core.tenants r ON r.id = p.tenant_id
    WHERE m.user_id = u.id AND (m.role = 'owner' OR NOT r.oidc_only))
  END AS reached_ids`

const FIND_ACCESS_TOKEN = `
  SELECT t.id, t.last_used_at, CASE WHEN t.all_projects THEN NULL ELSE t.project_ids END AS project_ids, t.identity_id,
    ${REACHED('t')}, ${USER_COLUMNS}
  FROM core.access_tokens t JOIN core.users u ON u.id = t.user_id
  WHERE t.token_hash = $1 AND t.expires_at > $2`
const TOUCH_ACCESS_TOKEN = 'UPDATE core.access_tokens SET last_used_at = $2 WHERE id = $1'

const FIND = `
  SELECT s.id, s.last_seen_at, coalesce(s.verified_at, s.created_at) AS verified_at, s.identity_id, ${REACHED('s')},
    ${USER_COLUMNS}
  FROM core.sessions s JOIN core.users u ON u.id = s.user_id
  WHERE s.token_hash = $1 AND s.expires_at > $2`

const TOUCH = `
  UPDATE core.sessions SET last_seen_at = $2, expires_at = least($3, created_at + interval '${MAX_SESSION_DAYS} days')
  WHERE id = $1`

// FOR SHARE waits for a concurrent password change, after which the hash differs, and for a concurrent set-up of a second
// factor. The next statements see both.
const LOCK_USER = 'SELECT FROM core.users WHERE id = $1 AND password_hash = $2 FOR SHARE'
const HAS_SECOND_FACTOR = '(SELECT FROM core.second_factors WHERE user_id = u.id AND secret IS NOT NULL)'
const START = `
  INSERT INTO core.sessions (id, user_id, token_hash, user_agent, network, created_at, last_seen_at, expires_at)
  SELECT $1, u.id, $3, $5, $6, $7, $7, $8 FROM core.users u
  WHERE u.id = $2 AND u.password_hash = $4 AND NOT EXISTS ${HAS_SECOND_FACTOR}`
const CHALLENGE = `
  INSERT INTO core.sign_in_challenges (id, user_id, token_hash, expires_at)
  SELECT $1, u.id, $3, $5 FROM core.users u
  WHERE u.id = $2 AND u.password_hash = $4 AND EXISTS ${HAS_SECOND_FACTOR}`

// FOR SHARE waits for a concurrent unlinking.
const START_OF_IDENTITY = `
  INSERT INTO core.sessions
    (id, user_id, token_hash, user_agent, network, created_at, last_seen_at, expires_at, identity_id, provider_session_id,
     verified_at)
  SELECT $1, user_id, $3, $4, $5, $6, $6, $7, id, $8, least($6, $9::timestamptz)
  FROM core.user_identities WHERE id = $2 FOR SHARE`

type UserRow = {
  id: string
  user_id: string
  email: string
  name: string
  email_verified_at: Date | null
  has_second_factor: boolean
  created_at: Date
  identity_id: string | null
  reached_ids: string[] | null
}
type Row = UserRow & { last_seen_at: Date; verified_at: Date }
type TokenRow = UserRow & { last_used_at: Date | null; project_ids: string[] | null }

const userOf = ({
  user_id,
  email,
  name,
  email_verified_at,
  has_second_factor,
  identity_id,
  created_at,
}: UserRow): Session['user'] => ({
  id: user_id,
  email,
  name,
  emailVerifiedAt: email_verified_at,
  hasSecondFactor: has_second_factor,
  meetsSecondFactor: has_second_factor || identity_id !== null,
  createdAt: created_at,
})

/** Starts and finds sessions. Only the hash of a session's token is stored. */
export const createSessions = ({
  db: { pool, prisma, transaction },
  clock,
}: Pick<Platform, 'db' | 'clock'>) => ({
  /**
   * Signs a user in whose password matched `passwordHash`: starts a session, or with a second factor a sign-in that waits
   * for it. Resolves to undefined if the password has been changed since.
   */
  startWithPassword: (
    user: { id: string; passwordHash: string },
    { userAgent, network }: Client,
  ): Promise<PasswordSignIn | undefined> =>
    transaction(async (client, commit) => {
      const { token, hash } = generateToken()
      const now = clock()
      const expiresAt = new Date(now + CHALLENGE_MS)
      const start = [uuidv7(), user.id, hash, user.passwordHash]
      // Sent together, because each round trip waits for a busy process.
      const [, challenge, session] = await Promise.all([
        client.query(LOCK_USER, [user.id, user.passwordHash]),
        client.query(CHALLENGE, [...start, expiresAt]),
        client.query(START, [
          ...start,
          userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
          network,
          new Date(now),
          new Date(now + SESSION_MS),
        ]),
        commit(),
      ])
      if (challenge.rowCount === 1) return { kind: 'challenge', token, expiresAt }
      return session.rowCount === 1 ? { kind: 'session', token } : undefined
    }),

  /** The sign-in that a browser's token belongs to, unless it has expired or was finished. */
  findChallenge: async (token: string): Promise<Challenge | undefined> => {
    const hash = hashToken(token)
    if (!hash) return undefined
    const found = await prisma.signInChallenge.findFirst({
      where: { tokenHash: new Uint8Array(hash), expiresAt: { gt: new Date(clock()) } },
      include: { user: true },
    })
    return found
      ? { id: found.id, user: { ...found.user, hasSecondFactor: true, meetsSecondFactor: true } }
      : undefined
  },

  /**
   * Finishes a sign-in. Resolves to the token of a new session.
   * @throws AppError unauthorized when a concurrent request was first
   */
  completeChallenge: async (
    tx: Prisma.TransactionClient,
    { id, user }: Challenge,
    { userAgent, network }: Client,
  ): Promise<string> => {
    const { count } = await tx.signInChallenge.deleteMany({ where: { id } })
    if (count === 0) throw signInExpired()
    const { token, hash } = generateToken()
    const now = new Date(clock())
    await tx.session.create({
      data: {
        id: uuidv7(),
        userId: user.id,
        tokenHash: new Uint8Array(hash),
        userAgent: userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
        network,
        createdAt: now,
        lastSeenAt: now,
        expiresAt: new Date(now.getTime() + SESSION_MS),
      },
    })
    return token
  },

  /** Notes that the user of a session has proved who they are. */
  verify: async (id: string): Promise<void> => {
    await pool.query('UPDATE core.sessions SET verified_at = $2 WHERE id = $1', [id, new Date(clock())])
  },

  /** Ends all other sessions and unfinished sign-ins of a session's user. */
  endOthers: async (tx: Prisma.TransactionClient, { id, user }: Session): Promise<void> => {
    await tx.signInChallenge.deleteMany({ where: { userId: user.id } })
    await tx.session.deleteMany({ where: { userId: user.id, id: { not: id } } })
  },

  /**
   * Starts a session for a user whom a provider has signed in. Resolves to its token, or undefined if the provider was
   * unlinked meanwhile. The user has proved who they are when the provider last asked them, if it says so.
   */
  startOfIdentity: async (
    identityId: string,
    { providerSessionId, signedInAt }: { providerSessionId: string | null; signedInAt: number | null },
    { userAgent, network }: Client,
  ): Promise<string | undefined> => {
    const { token, hash } = generateToken()
    const now = clock()
    const { rowCount } = await pool.query({
      name: 'start-session-of-identity',
      text: START_OF_IDENTITY,
      values: [
        uuidv7(),
        identityId,
        hash,
        userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
        network,
        new Date(now),
        new Date(now + SESSION_MS),
        providerSessionId,
        signedInAt === null ? null : new Date(signedInAt),
      ],
    })
    return rowCount === 1 ? token : undefined
  },

  /** The session of a token, unless it has expired. */
  find: async (token: string): Promise<Session | undefined> => {
    const hash = hashToken(token)
    if (!hash) return undefined
    const now = clock()
    const { rows } = await pool.query<Row>({
      name: 'find-session',
      text: FIND,
      values: [hash, new Date(now)],
    })
    const [row] = rows
    if (!row) return undefined
    const renewed = now - row.last_seen_at.getTime() >= TOUCH_MS
    if (renewed) await pool.query(TOUCH, [row.id, new Date(now), new Date(now + SESSION_MS)])
    return {
      id: row.id,
      user: userOf(row),
      verifiedAt: row.verified_at,
      renewed,
      kind: 'session',
      identityId: row.identity_id,
      projectIds: row.reached_ids,
    }
  },

  /** The personal access token with this text, unless it has expired or was revoked. */
  findAccessToken: async (text: string): Promise<Session | undefined> => {
    const hash = hashAccessToken(text)
    if (!hash) return undefined
    const now = clock()
    const { rows } = await pool.query<TokenRow>({
      name: 'find-access-token',
      text: FIND_ACCESS_TOKEN,
      values: [hash, new Date(now)],
    })
    const [row] = rows
    if (!row) return undefined
    if (row.last_used_at === null || now - row.last_used_at.getTime() >= TOUCH_MS)
      await pool.query(TOUCH_ACCESS_TOKEN, [row.id, new Date(now)])
    return {
      id: row.id,
      user: userOf(row),
      verifiedAt: null,
      renewed: false,
      kind: 'access-token',
      identityId: row.identity_id,
      projectIds: both(row.project_ids, row.reached_ids),
    }
  },
})

/** 401 for a sign-in that waits no longer for its second factor. */
export const signInExpired = (): AppError =>
  new AppError(
    'unauthorized',
    `Send the password again: a sign-in waits ${CHALLENGE_MINUTES} minutes for its code`,
    {
      code: 'sign_in_expired',
    },
  )

const both = (given: string[] | null, reached: string[] | null): string[] | null => {
  if (given === null || reached === null) return given ?? reached
  const known = new Set(reached)
  return given.filter((id) => known.has(id))
}

export type Sessions = ReturnType<typeof createSessions>

const INTERVAL_MS = 3_600_000

/** Emails about an account are deleted this long after they were queued, when their links have expired. */
const ACCOUNT_MAIL_MS = 48 * 3_600_000

/** Deletes expired sessions, unfinished sign-ins and access tokens, counts of failed sign-ins and emails about accounts. */
export const forgetExpired = ({ db, clock }: Pick<Platform, 'db' | 'clock'>): Loop =>
  everyMs('forget-expired', INTERVAL_MS, async () => {
    const now = new Date(clock())
    await db.pool.query('DELETE FROM core.sessions WHERE expires_at <= $1', [now])
    await db.pool.query('DELETE FROM core.sign_in_challenges WHERE expires_at <= $1', [now])
    await db.pool.query('DELETE FROM core.access_tokens WHERE expires_at <= $1', [now])
    await db.pool.query('DELETE FROM core.sign_in_failures WHERE window_ends_at <= $1', [now])
    await db.pool.query('DELETE FROM email.account_mails WHERE created_at <= $1', [
      new Date(now.getTime() - ACCOUNT_MAIL_MS),
    ])
  })
