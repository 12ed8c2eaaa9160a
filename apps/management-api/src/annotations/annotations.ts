import type { Decision } from '@waymark/contracts/decision-definition'
import {
  type AnnotationView,
  createAnnotation,
  deleteAnnotation,
  listAnnotations,
  MAX_ANNOTATIONS,
} from '@waymark/contracts/http/annotations'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { rampStepsOf, stateOf } from '@waymark/domain/decision'
import type { Route } from '@waymark/service-kit'
import { v5 as uuidv5, v7 as uuidv7 } from 'uuid'
import { toDecision } from '../decisions/decision-rows.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'
import { type Happening, listHappenings, listRampedDecisions } from './annotation-queries.ts'

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
    const [happened, ramped] = await Promise.all([
      listHappenings(db.pool, projectId, { from, to, limit: MAX_ANNOTATIONS }),
      listRampedDecisions(db.pool, projectId),
    ])
    const end = new Date(Math.min(to.getTime(), clock()))
    const steps = ramped.flatMap((row) => stepsOf(toDecision(row))).filter(({ at }) => at >= from && at < end)
    const all = [...happened, ...steps].sort((a, b) => b.at.getTime() - a.at.getTime())
    return { body: { data: all.slice(0, MAX_ANNOTATIONS).map(view) } }
  }),

  projectRoute(deleteAnnotation, async ({ projectId, id, requireMatch }) => {
    const where = { id: requireId(id), projectId }
    const note = requireFound(await db.prisma.annotation.findFirst({ where }))
    requireMatch(viewOfNote(note))
    await db.prisma.annotation.deleteMany({ where })
    return { status: 204 }
  }),
]

/** The steps that the ramps of a decision take in production, up to a stop by a guard. They get ids of their places. */
const stepsOf = (decision: Decision): Happening[] =>
  decision.definition.rules.flatMap((rule) => {
    const state = stateOf(decision, rule.id)
    const end = state?.stop ? Date.parse(state.stop.at) : Number.POSITIVE_INFINITY
    return rampStepsOf(rule, state).flatMap(({ at, percentage }, index): Happening[] =>
      at > end
        ? []
        : [
            {
              id: uuidv5(`${rule.id}:${index}`, decision.id),
              kind: 'decision',
              at: new Date(at),
              resourceId: decision.id,
              subject: decision.key,
              change: `${percentage}`,
            },
          ],
    )
  })

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
