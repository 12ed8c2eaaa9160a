import { dateOfTime, listDeadLetters, replayDeadLetter, replayDeadLetters, topics } from '@waymark/contracts'
import { aboutAnything, findErased } from '@waymark/pipeline'
import type { Platform, Route } from '@waymark/service-kit'
import { fillPage } from '../http/page.ts'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import {
  countDeadLetters,
  type DeadLetterPlace,
  type DeadLetterQuery,
  type DeadLetterRow,
  deadLetterId,
  placeOf,
  readDeadLetters,
} from './dead-letter-queries.ts'
import { publishOrRefuse } from './rejected-events.ts'
import { MAX_REMAINING, replayMany } from './replay-many.ts'

type Deps = Pick<Platform, 'db' | 'bus' | 'clock'> & { projectRoute: ProjectRouteFactory }

const MAX_INT = 2 ** 31 - 1
const ID = /^([^\n\0]+)\n([^\n\0]+)\n(\d{1,10})\n(\d{1,18})$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const MARK = `
  UPDATE ingest.dead_letters SET replayed_at = $1
  WHERE consumer_group = $2 AND topic = $3 AND "partition" = $4 AND "offset" = $5::bigint`

/** Records of a project that a consumer could not process, and sending them once more. */
export const deadLetterRoutes = ({ projectRoute, db, bus, clock }: Deps): Route[] => {
  /** Sends one once more, unless it does not fit its topic or its person was erased; answers whether it did. */
  const replay = async (projectId: string, letter: DeadLetterRow): Promise<'sent' | 'unfit' | 'erased'> => {
    const topic = topics.find(({ name }) => name === letter.topic)
    const value = parsed(letter.value)
    if (!topic?.validator.fits(value)) return 'unfit'
    const about = aboutAnything(value)
    if (about && (await findErased(db.pool, [about])).size > 0) return 'erased'
    // Every group reads it again; those that had processed it drop the repeat.
    await publishOrRefuse(bus.publish(topic, [{ key: letter.key ?? projectId, value }]))
    letter.replayed_at = new Date(clock())
    const { replayed_at, consumer_group, partition, offset } = letter
    await db.pool.query(MARK, [replayed_at, consumer_group, letter.topic, partition, offset])
    return 'sent'
  }

  return [
    projectRoute(listDeadLetters, async ({ projectId, query: { limit, cursor } }) => {
      const after = cursor === undefined ? undefined : parseCursor(cursor)
      const { page, hasMore } = await fillPage(limit, view, (last, take) =>
        readDeadLetters(
          db.pool,
          { projectId, after: last ? placeOf(last) : after },
          { limit: take, newestFirst: true },
        ),
      )
      const last = page.at(-1)
      const nextCursor = hasMore && last ? encode(placeOf(last.record).join('\n')) : null
      return { body: { data: page.map(({ shown }) => shown), nextCursor } }
    }),
    projectRoute(replayDeadLetter, async ({ projectId, id }) => {
      const ids = [requireFound(parseId(id))]
      const [letter] = await readDeadLetters(db.pool, { projectId, ids }, { limit: 1, newestFirst: true })
      const result = await replay(projectId, requireFound(letter))
      if (result === 'sent') return { status: 202, body: view(requireFound(letter)) }
      throw unprocessable(
        'value',
        result === 'unfit' ? 'schema' : 'erased',
        result === 'unfit'
          ? 'the record does not fit its topic and would fail again'
          : 'the record is about a person who was erased',
      )
    }),
    projectRoute(replayDeadLetters, async ({ projectId, body }) => {
      const { topic, group, from, to, cursor } = body
      const query: DeadLetterQuery = {
        ...{ projectId, topic, group, open: true },
        from: from === undefined ? undefined : dateOfTime(from),
        to: to === undefined ? undefined : dateOfTime(to),
        ids: body.ids?.map((id) => requireFound(parseId(id))),
      }
      const { next, ...result } = await replayMany<DeadLetterRow, DeadLetterPlace>(
        {
          read: (after, limit) =>
            readDeadLetters(db.pool, { ...query, after }, { limit, newestFirst: false }),
          cursorOf: placeOf,
          replay: async (letters) => {
            const results: string[] = []
            for (const letter of letters) results.push(await replay(projectId, letter))
            const count = (wanted: string) => results.filter((found) => found === wanted).length
            return { replayed: count('sent'), stillInvalid: count('unfit') }
          },
          count: (after) => countDeadLetters(db.pool, { ...query, after }, MAX_REMAINING),
        },
        cursor === undefined ? undefined : parseCursor(cursor),
        clock,
      )
      return { body: { ...result, nextCursor: next === undefined ? null : encode(next.join('\n')) } }
    }),
  ]
}

const encode = (text: string): string => Buffer.from(text).toString('base64url')

/** The id as it is kept in the database, or `undefined` when nothing can have it. */
const parseId = (id: string): string | undefined => {
  const text = Buffer.from(id, 'base64url').toString('utf8')
  const [, , , partition] = ID.exec(text) ?? []
  return partition === undefined || Number(partition) > MAX_INT ? undefined : text
}

const parseCursor = (cursor: string): DeadLetterPlace => {
  const [failedAt = '', ...id] = Buffer.from(cursor, 'base64url').toString('utf8').split('\n')
  const [group, topic, partition, offset] = id
  const isPlace = TIME.test(failedAt) && !Number.isNaN(Date.parse(failedAt)) && parseId(encode(id.join('\n')))
  if (isPlace && group && topic && partition && offset) return [failedAt, group, topic, partition, offset]
  throw unprocessable('cursor', 'format', 'must be the nextCursor of an earlier page of this list')
}

const parsed = (value: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(value).toString('utf8'))
  } catch {
    return undefined
  }
}

const view = (letter: DeadLetterRow) => ({
  id: encode(deadLetterId(letter)),
  group: letter.consumer_group,
  topic: letter.topic,
  partition: letter.partition,
  offset: letter.offset,
  key: letter.key,
  value: letter.value.toString('utf8'),
  headers: letter.headers,
  reason: letter.reason,
  failedAt: letter.failed_at,
  replayedAt: letter.replayed_at,
})
