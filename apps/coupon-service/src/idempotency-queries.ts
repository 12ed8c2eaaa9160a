import { hash } from 'node:crypto'
import type { ApiKeyKind } from '@waymark/contracts/api-key'
import { AppError, storeUnavailable } from '@waymark/contracts/app-error'
import type { Commit, Database } from '@waymark/database'
import type { ClientBase } from 'pg'

/** An answer. A `provisional` one is not stored, because a repeat may succeed later. */
export type Answer = { status: number; body: string; provisional?: boolean }
/** An answer with a body in JSON. */
export const answer = (status: number, body: object): Answer => ({ status, body: JSON.stringify(body) })

export const provisional = (status: number, body: object): Answer => ({
  ...answer(status, body),
  provisional: true,
})

/** The client's key of a request, the kind of the API key that sent it, and a hash of its body. */
export type IdempotentRequest = {
  projectId: string
  key: string
  keyKind: ApiKeyKind
  requestHash: string
  at: Date
}

/**
 * The key as stored: a page must not get the answer of a server that used the same key, and clients put ids of people and
 * orders into keys, which an erasure would not find.
 */
const storedKeyOf = ({ key, keyKind }: Pick<IdempotentRequest, 'key' | 'keyKind'>): string =>
  hash('sha256', `${keyKind} ${key}`, 'base64url')

/** The key as the version before stored it, for servers; null for pages. Remove it one release later. */
const earlierKeyOf = ({ key, keyKind }: Pick<IdempotentRequest, 'key' | 'keyKind'>): string | null =>
  keyKind === 'sec' ? key : null

/** How long answers are kept, in ms. */
const KEPT_MS = 48 * 60 * 60_000
const FORGET_ROWS = 5_000

const BEGIN = `
  INSERT INTO coupon.idempotency_keys (project_id, key, request_hash, created_at)
  SELECT $1::uuid, $2, $3, $4::timestamptz
  WHERE NOT EXISTS (SELECT FROM coupon.idempotency_keys WHERE project_id = $1::uuid AND key = $5::text)
  ON CONFLICT DO NOTHING`
const RECALL = `
  SELECT request_hash, status, body FROM coupon.idempotency_keys
  WHERE project_id = $1 AND key IN ($2, $3::text) ORDER BY key = $2 DESC LIMIT 1`
const KEEP = 'UPDATE coupon.idempotency_keys SET status = $3, body = $4 WHERE project_id = $1 AND key = $2'
const RELEASE = 'DELETE FROM coupon.idempotency_keys WHERE project_id = $1 AND key = $2'
const FORGET = `
  DELETE FROM coupon.idempotency_keys WHERE (project_id, key) IN (
    SELECT project_id, key FROM coupon.idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT ${FORGET_ROWS}
    FOR UPDATE SKIP LOCKED)`

type StoredAnswer = { request_hash: string; status: number; body: string }

/**
 * Answers a request once per key and commits the transaction of `client`, with the changes of `work` and its answer. A
 * provisional answer releases the key. A concurrent repeat waits for the first request, up to the `lock_timeout`.
 * @throws AppError unprocessable when the key belongs to another request
 */
export const answerOnce = async (
  { client, commit }: { client: ClientBase; commit: Commit },
  { projectId, requestHash, at, ...sent }: IdempotentRequest,
  work: () => Promise<Answer>,
): Promise<Answer & { replayed: boolean }> => {
  const [key, earlierKey] = [storedKeyOf(sent), earlierKeyOf(sent)]
  const begun = await client.query({
    name: 'begin-idempotent',
    text: BEGIN,
    values: [projectId, key, requestHash, at, earlierKey],
  })
  if (begun.rowCount === 1) {
    const { status, body, provisional } = await work()
    const kept = client.query(
      provisional
        ? { name: 'release-key', text: RELEASE, values: [projectId, key] }
        : { name: 'keep-answer', text: KEEP, values: [projectId, key, status, body] },
    )
    await Promise.all([kept, commit()])
    return { status, body, replayed: false }
  }
  const { rows } = await client.query<StoredAnswer>({
    name: 'recall-answer',
    text: RECALL,
    values: [projectId, key, earlierKey],
  })
  const [kept] = rows
  // Deleted between the two statements, so the client may retry.
  if (!kept) throw storeUnavailable(undefined, 1)
  if (kept.request_hash !== requestHash)
    throw new AppError('unprocessable', 'The Idempotency-Key was used with another request')
  return { status: kept.status, body: kept.body, replayed: true }
}

/** Deletes old answers, at most `FORGET_ROWS` per run, and resolves to how many. */
export const createForgetAnswers =
  ({ pool }: Pick<Database, 'pool'>, now: () => number) =>
  async (): Promise<number> => {
    const { rowCount } = await pool.query(FORGET, [new Date(now() - KEPT_MS)])
    return rowCount ?? 0
  }
