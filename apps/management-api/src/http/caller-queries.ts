import { AsyncLocalStorage } from 'node:async_hooks'
import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { AppError } from '@waymark/contracts/app-error'
import { missingCredentials } from '@waymark/contracts/http/operation'
import type { ProjectRole } from '@waymark/contracts/project-role'
import type { Database } from '@waymark/database'
import { roleAllows } from '@waymark/domain/account'
import { scopeAllows } from '@waymark/domain/key'
import type { ClientBase } from 'pg'
import type { Session } from '../accounts/session-queries.ts'

/** Who sends a write, and what the caller has to be allowed when it commits. */
export type WriteCaller =
  | { kind: 'key'; id: string; scope: ApiKeyScope | null }
  | { kind: 'user'; session: Session; member?: { projectId: string; role: ProjectRole } }

type Row = { role?: string; scopes?: ApiKeyScope[] }
/** Runs a statement in a transaction and returns its rows. */
export type Query<R> = (text: string, values: unknown[]) => Promise<R[]>

const callers = new AsyncLocalStorage<WriteCaller>()

/** Runs the handler of a write, whose transactions check the caller again. */
export const runAsCaller = <T>(caller: WriteCaller, run: () => Promise<T>): Promise<T> =>
  callers.run(caller, run)

const KEY = `
  SELECT scopes FROM core.api_keys k
  WHERE k.id = $1::uuid AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())`
const SIGN_INS = { session: 'core.sessions', 'access-token': 'core.access_tokens' }
const signIn = (kind: Session['kind']): string => `SELECT s.id FROM ${SIGN_INS[kind]} s WHERE s.id = $1::uuid`
const MEMBER =
  'SELECT m.role FROM core.project_members m WHERE m.user_id = $1::uuid AND m.project_id = $2::uuid'

/**
 * Checks in a transaction that the caller of the current request may still write. With `lock` a revocation waits for the end
 * of the transaction; use it once the other locks are taken, so that a revocation that holds them cannot deadlock with it.
 * @throws AppError unauthorized, forbidden or not_found when a revocation has committed before
 */
const requireCaller = async (query: Query<Row>, { lock }: { lock: boolean }): Promise<void> => {
  const caller = callers.getStore()
  if (!caller) return
  const suffix = lock ? ' FOR SHARE' : ''
  if (caller.kind === 'key') {
    const [key] = await query(KEY + suffix, [caller.id])
    if (!key) throw new AppError('unauthorized', missingCredentials('key'))
    if (caller.scope !== null && !scopeAllows(key.scopes ?? [], caller.scope))
      throw new AppError('forbidden', 'The API key lacks the required scope', { requiredScope: caller.scope })
    return
  }
  const { session, member } = caller
  const [found] = await query(signIn(session.kind) + suffix, [session.id])
  if (!found) throw new AppError('unauthorized', missingCredentials('session'))
  if (!member) return
  const [row] = await query(MEMBER + suffix, [session.user.id, member.projectId])
  if (!row) throw new AppError('not_found', 'Not found')
  if (!roleAllows(row.role as ProjectRole, member.role))
    throw new AppError('forbidden', 'Your role in the project does not allow this', {
      requiredRole: member.role,
    })
}

type PrismaTransaction = { $queryRawUnsafe<T>(text: string, ...values: unknown[]): Promise<T> }

/** Runs statements in a transaction of Prisma. */
export const inPrisma =
  <R>(tx: PrismaTransaction): Query<R> =>
  (text, values) =>
    tx.$queryRawUnsafe<R[]>(text, ...values)

/** Runs statements in the transaction of a client of pg. */
export const inClient =
  <R extends object>(client: Pick<ClientBase, 'query'>): Query<R> =>
  async (text, values) =>
    (await client.query<R>(text, values)).rows

/** As `requireCaller`, once a transaction has its other locks. */
export const requireCallerWithLock = (tx: PrismaTransaction): Promise<void> =>
  requireCaller(inPrisma(tx), { lock: true })

/**
 * A database whose transactions check the caller of the current request: those of Prisma at their beginning and after each
 * lock, because they may remove the caller's own rights; others at their end.
 */
export const checkingCallers = (db: Database): Database => {
  const transaction: Database['transaction'] = (run, options) =>
    db.transaction(async (client, commit) => {
      const result = await run(client, commit)
      await requireCaller(inClient(client), { lock: true })
      return result
    }, options)
  const inTransaction = (work: unknown, options?: object): unknown =>
    typeof work === 'function'
      ? db.prisma.$transaction(async (tx) => {
          await requireCaller(inPrisma(tx), { lock: false })
          return work(tx)
        }, options)
      : db.prisma.$transaction(work as never, options)
  let prisma: Database['prisma'] | undefined
  return {
    pool: db.pool,
    waiting: db.waiting,
    close: db.close,
    transaction,
    get prisma() {
      prisma ??= new Proxy(db.prisma, {
        get: (client, name) => {
          if (name === '$transaction') return inTransaction
          const value: unknown = Reflect.get(client, name)
          return typeof value === 'function' ? value.bind(client) : value
        },
      })
      return prisma
    },
  }
}
