import { listConversions } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { UUID_PATTERN, unprocessable } from '../http/validation.ts'

const CURSOR = new RegExp(`^(${UUID_PATTERN})_(${UUID_PATTERN})$`)

type StoredConversion = Prisma.ConversionGetPayload<object>

/** A project's conversions, the last received first; with `eventId` those of one event. */
export const conversionRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(listConversions, async ({ projectId, query }) => {
    const { limit } = query
    const found = await db.prisma.conversion.findMany({
      where: {
        projectId,
        ...(query.eventId !== undefined && { eventKey: eventKeyOf(query.eventId) }),
      },
      orderBy: [{ receivedAt: 'desc' }, { eventKey: 'desc' }, { selectorId: 'desc' }],
      take: limit + 1,
      ...(query.cursor !== undefined && { cursor: parseCursor(projectId, query.cursor), skip: 1 }),
    })
    const page = found.slice(0, limit)
    const last = page.at(-1)
    const nextCursor = found.length > limit && last ? formatCursor(last) : null
    return { body: { data: page.map(view), nextCursor } }
  }),
]

const formatCursor = ({ eventKey, selectorId }: StoredConversion): string =>
  Buffer.from(`${eventKey}_${selectorId}`).toString('base64url')

const parseCursor = (projectId: string, text: string) => {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const [, eventKey, selectorId] = CURSOR.exec(plain) ?? []
  if (!eventKey || !selectorId)
    throw unprocessable('cursor', 'format', 'must be the nextCursor of an earlier page of this list')
  return { projectId_eventKey_selectorId: { projectId, eventKey, selectorId } }
}

// Amounts fit a JSON number: the gateway takes only integers that do.
const view = ({ projectId: _projectId, eventKey: _eventKey, amount, ...conversion }: StoredConversion) => ({
  ...conversion,
  amount: amount === null ? null : Number(amount),
})
