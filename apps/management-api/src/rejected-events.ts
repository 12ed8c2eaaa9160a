import {
  AppError,
  getRejectedEvent,
  ingestRecords,
  listRejectedEvents,
  replayRejectedEvent,
} from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { partitionKeyOf, validateEvent } from '@waymark/domain'
import { BusUnavailableError } from '@waymark/event-bus'
import type { Platform, Route } from '@waymark/service-kit'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId } from './validation.ts'

type Rejected = Prisma.RejectedEventGetPayload<object>
type Deps = Pick<Platform, 'db' | 'bus' | 'projectConfigs' | 'clock'> & { projectRoute: ProjectRouteFactory }

const RETRY_AFTER_S = 30

/** The quarantine: events that `enforce` turned away, and sending them once more when their definition is mended. */
export const rejectedEventRoutes = ({ projectRoute, db, bus, projectConfigs, clock }: Deps): Route[] => [
  projectRoute(listRejectedEvents, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      (where, take) =>
        db.prisma.rejectedEvent.findMany({ where: { projectId, ...where }, orderBy: { id: 'desc' }, take }),
      view,
    ),
  })),
  projectRoute(getRejectedEvent, async ({ projectId, id }) => ({
    body: view(
      requireFound(await db.prisma.rejectedEvent.findFirst({ where: { id: requireId(id), projectId } })),
    ),
  })),
  projectRoute(replayRejectedEvent, async ({ projectId, id }) => {
    const rejected = requireFound(
      await db.prisma.rejectedEvent.findFirst({ where: { id: requireId(id), projectId } }),
    )
    const record = rejected.record
    if (!ingestRecords.validator.fits(record) || record.kind !== 'event')
      throw new Error(`rejected event ${id} is damaged`)
    const config = await projectConfigs.get(projectId)
    const { violations } = validateEvent(record.event, [], 'enforce', config)
    if (violations.length > 0) {
      throw new AppError('unprocessable', 'The event is still not valid', { errors: violations })
    }
    await publishOrRefuse(
      bus.publish(ingestRecords, [{ key: partitionKeyOf(projectId, record.event), value: record }]),
    )
    const replayedAt = new Date(clock())
    return {
      status: 202,
      body: view(await db.prisma.rejectedEvent.update({ where: { id }, data: { replayedAt } })),
    }
  }),
]

/** Waits until the queue has taken a record. @throws AppError queue_unavailable when it does not answer */
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

const view = ({ projectId: _projectId, record, ...rejected }: Rejected) => {
  const { event } = record as { event?: unknown }
  return { ...rejected, event }
}
