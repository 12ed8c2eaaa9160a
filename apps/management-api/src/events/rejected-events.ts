import { AppError } from '@waymark/contracts/app-error'
import { pick } from '@waymark/contracts/http/pick'
import {
  getRejectedEvent,
  listRejectedEvents,
  replayRejectedEvent,
  replayRejectedEvents,
} from '@waymark/contracts/http/rejected-events'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { ingestRecords } from '@waymark/contracts/topics'
import type { Prisma } from '@waymark/database'
import { validateEvent } from '@waymark/domain/catalog'
import { STRUCTURE_RULE } from '@waymark/domain/client-message'
import { completeEvent, partitionKeyOf } from '@waymark/domain/ingestion'
import { WorkBudget } from '@waymark/domain/logic'
import { BusUnavailableError } from '@waymark/event-bus'
import { aboutRecord, findErased } from '@waymark/pipeline'
import type { ProjectConfig } from '@waymark/project-config'
import { LoopTurns, type Route } from '@waymark/service-kit'
import { encodeCursor, pageOf, parseIdCursor } from '../http/page.ts'
import { requireFound, requireId, UUID } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { MAX_REMAINING, replayMany } from './replay-many.ts'

type Rejected = Prisma.RejectedEventGetPayload<object>

const RETRY_AFTER_S = 30

/** Events that were rejected by `enforce`, and their replay after their definition has been changed. */
export const rejectedEventRoutes = ({
  projectRoute,
  db,
  bus,
  projectConfigs,
  clock,
}: ManagementDeps): Route[] => {
  /** Publishes the events that are valid now, and resolves to their ids and the violations of the others. */
  const replay = async (projectId: string, rejected: readonly Rejected[]) => {
    const config = await projectConfigs.getLatest(projectId)
    const records = rejected.map(recordOf)
    const erased = await findErased(db.pool, records.map(aboutRecord))
    const found = await violationsOf(records, config)
    const verdicts = found.map((violations, index) => {
      const errors = (rejected[index]?.errors ?? []) as ValidationItem[]
      // A message of Segment's protocol that was never an event.
      return errors.some(({ rule }) => rule === STRUCTURE_RULE) ? errors : violations
    })
    const valid = records.filter((_, index) => !erased.has(index) && verdicts[index]?.length === 0)
    const outgoing = valid.map((value) => ({ key: partitionKeyOf(projectId, value.event), value }))
    await publishOrRefuse(bus.publish(ingestRecords, outgoing))
    const ids = rejected
      .filter((_, index) => valid.includes(records[index] as IngestRecord))
      .map(({ id }) => id)
    const replayedAt = new Date(clock())
    await db.prisma.rejectedEvent.updateMany({ where: { id: { in: ids } }, data: { replayedAt } })
    return { replayed: ids, violations: verdicts.filter((violations) => violations.length > 0) }
  }

  return [
    projectRoute(listRejectedEvents, async ({ projectId, query }) => ({
      body: await pageOf(query, (page) => db.prisma.rejectedEvent.findMany(page({ projectId })), view),
    })),
    projectRoute(getRejectedEvent, async ({ projectId, id }) => ({
      body: view(
        requireFound(await db.prisma.rejectedEvent.findFirst({ where: { id: requireId(id), projectId } })),
      ),
    })),
    projectRoute(replayRejectedEvent, async ({ projectId, id }) => {
      const found = () => db.prisma.rejectedEvent.findFirst({ where: { id: requireId(id), projectId } })
      const { replayed, violations } = await replay(projectId, [requireFound(await found())])
      const [errors] = violations
      if (errors) throw new AppError('unprocessable', 'The event is still not valid', { errors })
      // Its person has been erased.
      if (replayed.length === 0) throw new AppError('not_found', 'Not found')
      return { status: 202, body: view(requireFound(await found())) }
    }),
    projectRoute(replayRejectedEvents, async ({ projectId, body }) => {
      const { eventName, from, to, cursor } = body
      const ids = body.ids?.filter((id) => UUID.test(id))
      const unknownIds = body.ids?.filter((id) => !UUID.test(id)) ?? []
      if (ids?.length === 0) requireFound(undefined)
      const where = (after: string | undefined): Prisma.RejectedEventWhereInput => ({
        projectId,
        replayedAt: null,
        AND: [...(after === undefined ? [] : [{ id: { gt: after } }]), ...(ids ? [{ id: { in: ids } }] : [])],
        ...(eventName !== undefined && { eventName }),
        rejectedAt: { ...(from && { gte: dateOfTime(from) }), ...(to && { lt: dateOfTime(to) }) },
      })
      const { next, ...result } = await replayMany<Rejected, string>(
        {
          read: (after, take) =>
            db.prisma.rejectedEvent.findMany({ where: where(after), orderBy: { id: 'asc' }, take }),
          cursorOf: ({ id }) => id,
          replay: async (rejected) => {
            const { replayed, violations } = await replay(projectId, rejected)
            return { replayed: replayed.length, stillInvalid: violations.length }
          },
          count: (after) => db.prisma.rejectedEvent.count({ where: where(after), take: MAX_REMAINING }),
        },
        cursor === undefined ? undefined : parseIdCursor(cursor),
        clock,
      )
      const nextCursor = next === undefined ? null : encodeCursor(next)
      return { body: { ...result, ...(unknownIds.length > 0 && { unknownIds }), nextCursor } }
    }),
  ]
}

/** The violations of each event by the current definitions, within the work budget of one request. */
const violationsOf = async (
  records: readonly IngestRecord[],
  config: ProjectConfig,
): Promise<ReturnType<typeof validateEvent>['violations'][]> => {
  const budget = new WorkBudget()
  const turns = new LoopTurns()
  await config.prepare('ingestion', new Set(records.map(({ event }) => event.eventName)), turns)
  const found = []
  for (const { event } of records) {
    if (turns.isOver()) await turns.next()
    budget.startItem()
    found.push(validateEvent(event, [], 'enforce', config, budget).violations)
  }
  return found
}

/** Awaits a publication. @throws AppError queue_unavailable when the bus is unavailable */
export const publishOrRefuse = async (publishing: Promise<void>): Promise<void> => {
  try {
    await publishing
  } catch (error) {
    if (!(error instanceof BusUnavailableError)) throw error
    throw new AppError(
      'queue_unavailable',
      'QUEUE_UNAVAILABLE',
      { retryAfterSeconds: RETRY_AFTER_S },
      { cause: error },
    )
  }
}

const recordOf = ({ id, record }: Rejected): IngestRecord => {
  if (!ingestRecords.validator.fits(record) || record.kind !== 'event')
    throw new Error(`rejected event ${id} is damaged`)
  return record
}

const view = (rejected: Rejected) => {
  const { event } = rejected.record as Pick<IngestRecord, 'event'>
  return pick({ ...rejected, event: completeEvent(event) }, getRejectedEvent.answers[200].schema)
}
