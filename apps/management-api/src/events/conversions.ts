import { ConversionView, listConversions } from '@waymark/contracts/http/conversions'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import type { Route } from '@waymark/service-kit'
import { decodeCursor, encodeCursor, unusableCursor } from '../http/page.ts'
import { UUID_PATTERN } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

const CURSOR = new RegExp(`^(${UUID_PATTERN})_(${UUID_PATTERN})$`)

type StoredConversion = Prisma.ConversionGetPayload<object>

/** A project's conversions, latest received first; with `eventId` those of one event. */
export const conversionRoutes = ({ projectRoute, db }: ManagementDeps): Route[] => [
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
  encodeCursor(`${eventKey}_${selectorId}`)

const parseCursor = (projectId: string, text: string) => {
  const [, eventKey, selectorId] = CURSOR.exec(decodeCursor(text)) ?? []
  if (!eventKey || !selectorId) throw unusableCursor()
  return { projectId_eventKey_selectorId: { projectId, eventKey, selectorId } }
}

// The gateway accepts only amounts that a JSON number holds exactly.
const view = (conversion: StoredConversion) => {
  const { amount } = conversion
  return pick({ ...conversion, amount: amount === null ? null : Number(amount) }, ConversionView)
}
