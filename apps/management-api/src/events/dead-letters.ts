import { listDeadLetters, replayDeadLetter, replayDeadLetters } from '@waymark/contracts/http/dead-letters'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { topics } from '@waymark/contracts/topics'
import { aboutAnything, findErased } from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import { decodeCursor, encodeCursor, fillPage, unusableCursor } from '../http/page.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import {
  countDeadLetters,
  type DeadLetterPlace,
  type DeadLetterQuery,
  type DeadLetterRow,
  deadLetterId,
  markReplayed,
  placeOf,
  readDeadLetters,
} from './dead-letter-queries.ts'
import { publishOrRefuse } from './rejected-events.ts'
import { MAX_REMAINING, replayMany } from './replay-many.ts'

const MAX_INT = 2 ** 31 - 1
const ID = /^([^\n\0]+)\n([^\n\0]+)\n(\d{1,10})\n(\d{1,18})$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Records of a project that a consumer could not process, and their replay. */
export const deadLetterRoutes = ({ projectRoute, db, bus, clock }: ManagementDeps): Route[] => {
  /** Publishes a record again, unless it does not fit its topic or its person was erased. */
  const replay = async (projectId: string, letter: DeadLetterRow): Promise<'sent' | 'unfit' | 'erased'> => {
    const topic = topics.find(({ name }) => name === letter.topic)
    const value = parsed(letter.value)
    if (!topic?.validator.fits(value)) return 'unfit'
    const about = aboutAnything(value)
    if (about && (await findErased(db.pool, [about])).size > 0) return 'erased'
    // Every group reads it again; those that have processed it drop the repeat.
    await publishOrRefuse(bus.publish(topic, [{ key: letter.key ?? projectId, value }]))
    letter.replayed_at = new Date(clock())
    await markReplayed(db.pool, letter, letter.replayed_at)
    return 'sent'
  }

  return [
    projectRoute(listDeadLetters, async ({ projectId, query: { limit, cursor } }) => {
      const after = cursor === undefined ? undefined : parseCursor(cursor)
      const { data, last } = await fillPage(limit, view, (previous, take) => {
        const letters = { projectId, after: previous ? placeOf(previous) : after }
        return readDeadLetters(db.pool, letters, { limit: take, newestFirst: true })
      })
      return { body: { data, nextCursor: last ? formatCursor(placeOf(last)) : null } }
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
      const ids = body.ids?.flatMap((id) => parseId(id) ?? [])
      const unknownIds = body.ids?.filter((id) => parseId(id) === undefined) ?? []
      if (ids?.length === 0) requireFound(undefined)
      const query: DeadLetterQuery = {
        projectId,
        topic,
        group,
        open: true,
        from: from === undefined ? undefined : dateOfTime(from),
        to: to === undefined ? undefined : dateOfTime(to),
        ids,
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
      const nextCursor = next === undefined ? null : formatCursor(next)
      return { body: { ...result, ...(unknownIds.length > 0 && { unknownIds }), nextCursor } }
    }),
  ]
}

const formatCursor = (place: DeadLetterPlace): string => encodeCursor(place.join('\n'))

/** The decoded id, or `undefined` when no dead letter can have it. */
const parseId = (id: string): string | undefined => {
  const text = decodeCursor(id)
  const [, , , partition] = ID.exec(text) ?? []
  return partition === undefined || Number(partition) > MAX_INT ? undefined : text
}

const parseCursor = (cursor: string): DeadLetterPlace => {
  const [failedAt = '', ...id] = decodeCursor(cursor).split('\n')
  const [group, topic, partition, offset] = id
  const isPlace =
    TIME.test(failedAt) && !Number.isNaN(Date.parse(failedAt)) && parseId(encodeCursor(id.join('\n')))
  if (isPlace && group && topic && partition && offset) return [failedAt, group, topic, partition, offset]
  throw unusableCursor()
}

const parsed = (value: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(value).toString('utf8'))
  } catch {
    return undefined
  }
}

const view = (letter: DeadLetterRow) => ({
  id: encodeCursor(deadLetterId(letter)),
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
