import type { DecisionDefinition, DecisionRule } from '@waymark/contracts/decision-definition'
import type { SegmentCondition } from '@waymark/contracts/http/segments'
import type { Prisma } from '@waymark/database'
import { eventsCountedBy, type Segment, segmentsIn } from '@waymark/domain/decision'

type Transaction = Prisma.TransactionClient

/** How long after a change all processes that store events know of it, in ms. */
const SETTLED_MS = 15_000

/** A stored segment. */
export type SegmentRow = Prisma.SegmentGetPayload<object>

type Reference = { field: string; key: string }

/** The keys of the segments that the rules of a decision refer to in any environment, with the path of the condition. */
export const segmentsOf = ({
  rules,
  environments = {},
}: Pick<DecisionDefinition, 'rules' | 'environments'>): Reference[] => [
  ...referencesIn(rules, 'rules'),
  ...Object.entries(environments).flatMap(([name, own]) =>
    referencesIn(own.rules, `environments.${name}.rules`),
  ),
]

const referencesIn = (rules: readonly DecisionRule[], path: string): Reference[] =>
  rules.flatMap(({ condition }, index) =>
    segmentsIn(condition).map((key) => ({ field: `${path}.${index}.condition`, key })),
  )

/** The segments of a project that the rules of decisions refer to. */
export const readSegmentsOf = async (
  { segment }: Pick<Transaction, 'segment'>,
  projectId: string,
  decisions: readonly { definition: DecisionDefinition }[],
): Promise<Segment[]> => {
  const keys = decisions.flatMap(({ definition }) => segmentsOf(definition).map(({ key }) => key))
  return readSegments({ segment }, projectId, keys)
}

/** Those of a project's segments that have one of the keys. */
export const readSegments = async (
  { segment }: Pick<Transaction, 'segment'>,
  projectId: string,
  keys: readonly string[],
): Promise<Segment[]> => {
  if (keys.length === 0) return []
  const rows = await segment.findMany({ where: { projectId, key: { in: [...new Set(keys)] } } })
  return rows.map(({ key, condition }) => ({ key, condition: condition as SegmentCondition }))
}

/**
 * Has the events of all segments of a project counted, and no others. Call it after a change of segments, in its
 * transaction.
 */
export const countEventsOfSegments = async (tx: Transaction, projectId: string): Promise<void> => {
  const segments = await tx.segment.findMany({ where: { projectId }, select: { condition: true } })
  const wanted = new Set(segments.flatMap(({ condition }) => eventsCountedBy(condition as SegmentCondition)))
  const counted = await tx.countedEvent.findMany({ where: { projectId }, select: { event: true } })
  const unused = counted.map(({ event }) => event).filter((event) => !wanted.has(event))
  if (unused.length > 0) await tx.countedEvent.deleteMany({ where: { projectId, event: { in: unused } } })
  const countsFrom = new Date(Date.now() + SETTLED_MS)
  await tx.countedEvent.createMany({
    data: [...wanted].map((event) => ({ projectId, event, countsFrom })),
    skipDuplicates: true,
  })
}
