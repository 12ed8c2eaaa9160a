import {
  type AnnotationView,
  createAnnotation,
  deleteAnnotation,
  listAnnotations,
  MAX_ANNOTATIONS,
} from '@waymark/contracts/http/annotations'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'
import { type Happening, listHappenings } from './annotation-queries.ts'

/** What happened at a time, for charts. */
export const annotationRoutes = ({ projectRoute, db, quotas, clock }: ManagementDeps): Route[] => [
  projectRoute(createAnnotation, async ({ projectId, body: { text, at } }) => {
    const time = at === undefined ? new Date(clock()) : dateOfTime(at)
    const note = await db.prisma.$transaction(async (tx) => {
      await lockQuota(tx, projectId, 'annotations')
      requireWithinQuota(quotas, 'annotations', (await tx.annotation.count({ where: { projectId } })) + 1)
      return tx.annotation.create({ data: { id: uuidv7(), projectId, text, at: time } })
    })
    return { status: 201, body: viewOfNote(note) }
  }),

  projectRoute(listAnnotations, async ({ projectId, query }) => {
    const [from, to] = [dateOfTime(query.from), dateOfTime(query.to)]
    if (from >= to) throw unprocessable('to', 'range', 'must be after from', query.to)
    const happened = await listHappenings(db.pool, projectId, { from, to, limit: MAX_ANNOTATIONS })
    return { body: { data: happened.map(view) } }
  }),

  projectRoute(deleteAnnotation, async ({ projectId, id, requireMatch }) => {
    const where = { id: requireId(id), projectId }
    const note = requireFound(await db.prisma.annotation.findFirst({ where }))
    requireMatch(viewOfNote(note))
    await db.prisma.annotation.deleteMany({ where })
    return { status: 204 }
  }),
]

/** How a decision was changed, in the words of an annotation. */
const CHANGES: Readonly<Record<string, string>> = {
  created: 'activated',
  updated: 'changed',
  rolled_back: 'rolled back',
  scheduled: 'changed as scheduled',
}

const textOf = ({ kind, subject, change }: Happening): string => {
  if (kind === 'note') return subject
  if (kind === 'schema') return `Schema of ${subject}: version ${change}`
  return /^[0-9.]+$/.test(change)
    ? `Decision ${subject}: ${change} %`
    : `Decision ${subject} ${CHANGES[change] ?? change.replaceAll('_', ' ')}`
}

const viewOfNote = ({ id, text, at }: { id: string; text: string; at: Date }): AnnotationView =>
  view({ id, kind: 'note', at, resourceId: null, subject: text, change: '' })

const view = (happened: Happening): AnnotationView => ({
  id: happened.id,
  kind: happened.kind,
  text: textOf(happened),
  at: happened.at.toISOString(),
  resourceId: happened.resourceId,
})
