import { type Static, Type } from 'typebox'
import { DecisionKey } from '../decision-definition.ts'
import { Id, Name, Timestamp } from '../schema-parts.ts'
import { busyOrLate, EventName, Filter, MAX_FILTERS, QUERY_LIMITS } from './analytics-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'
import { ProfileView } from './profile-view.ts'

/** Maximum counts of a segment. */
export const MAX_SEGMENT_COUNTS = 10
/** Maximum days of a count. */
export const MAX_SEGMENT_DAYS = 90
/** People that a preview shows. */
export const SEGMENT_SAMPLE = 5

/** The comparisons of counts. */
export const segmentCountOperators = ['eq', 'gt', 'gte', 'lt', 'lte'] as const
export type SegmentCountOperator = (typeof segmentCountOperators)[number]

const Count = Type.Object({
  eventName: EventName,
  days: Type.Integer({
    minimum: 1,
    maximum: MAX_SEGMENT_DAYS,
    description: 'The days (UTC) in which events count, including today.',
  }),
  op: Type.Unsafe<SegmentCountOperator>({ type: 'string', enum: [...segmentCountOperators] }),
  value: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'The number of events to compare with.',
  }),
})

export const SegmentConditionSchema = Type.Object(
  {
    match: Type.Optional(
      Type.Unsafe<'all' | 'any'>({
        type: 'string',
        enum: ['all', 'any'],
        description: 'Whether a person must match all filters and counts, or any of them. Default: `all`.',
      }),
    ),
    filters: Type.Optional(
      Type.Array(Filter, { maxItems: MAX_FILTERS, description: 'Filters of traits: `traits.<path>`.' }),
    ),
    counts: Type.Optional(
      Type.Array(Count, {
        maxItems: MAX_SEGMENT_COUNTS,
        description: 'How often the person had an event. Events of bots count as well.',
      }),
    ),
  },
  {
    description:
      'Which people are in the segment: filters of their traits and numbers of their events, at least one in all.',
  },
)
/** The condition of a segment in a request. */
export type SegmentCondition = Static<typeof SegmentConditionSchema>

const NewSegment = Type.Object({ key: DecisionKey, name: Name, condition: SegmentConditionSchema })
const SegmentPatch = Type.Object({
  name: Type.Optional(Name),
  condition: Type.Optional(SegmentConditionSchema),
})

export const SegmentView = Type.Object({
  id: Id,
  key: Type.String({ description: 'What rules refer to: `{ "segment": "<key>" }`.' }),
  name: Type.String(),
  condition: SegmentConditionSchema,
  countsComplete: Type.Boolean({
    description:
      'Whether the counts that decisions use include the events before the segment was saved. Otherwise they are being ' +
      'counted, and decisions see lower numbers.',
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type SegmentView = Static<typeof SegmentView>

const SegmentPreview = Type.Object({
  people: Type.Integer({ description: 'People in the segment, among those with traits or stored events.' }),
  sample: Type.Array(ProfileView, { description: `Up to ${SEGMENT_SAMPLE} of them.` }),
})
export type SegmentPreview = Static<typeof SegmentPreview>

const tag = 'Segments'
const collection = '/api/projects/{projectId}/segments'
const one = `${collection}/{key}`
const segment = { description: 'The segment', schema: SegmentView }
const editor = { by: 'project', role: 'editor' } as const
const viewer = { by: 'project', role: 'viewer' } as const

export const createSegment = defineOperation({
  id: 'createSegment',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create a segment',
  description:
    'A named group of people for the conditions of decision rules: `{ "segment": "<key>" }` is true for its members. ' +
    'A segment cannot refer to another one.',
  access: editor,
  effects: [],
  body: NewSegment,
  answers: { 201: segment },
})

export const listSegments = defineOperation({
  id: 'listSegments',
  method: 'get',
  path: collection,
  tag,
  summary: 'List segments',
  access: viewer,
  query: PageQuery,
  answers: { 200: { description: 'A page of segments, the newest first', schema: pageOf(SegmentView) } },
})

export const getSegment = defineOperation({
  id: 'getSegment',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a segment',
  access: viewer,
  answers: { 200: segment },
})

export const updateSegment = defineOperation({
  id: 'updateSegment',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change the name or the condition of a segment',
  description:
    'Decisions apply the new condition at once. Its key does not change. Where changes of a decision that refers to it need ' +
    'approvals, the condition cannot change: create another segment.',
  access: editor,
  effects: [],
  body: SegmentPatch,
  answers: { 200: segment },
})

export const deleteSegment = defineOperation({
  id: 'deleteSegment',
  method: 'delete',
  path: one,
  tag,
  summary: 'Delete a segment',
  access: editor,
  effects: [],
  answers: {
    204: { description: 'Deleted' },
    409: {
      description: 'Decisions, coupon pools or loyalty programmes that are not archived refer to it',
      schema: Type.Object({
        error: Type.String(),
        decisions: Type.Array(Type.String(), { description: 'The keys of these decisions.' }),
        couponPools: Type.Array(Type.String(), { description: 'The names of these pools.' }),
        loyaltyProgrammes: Type.Array(Type.String(), { description: 'The keys of these programmes.' }),
      }),
    },
  },
})

export const previewSegment = defineOperation({
  id: 'previewSegment',
  takesLong: true,
  method: 'post',
  readOnly: true,
  path: `${collection}/preview`,
  tag,
  summary: 'Count the people that a condition matches',
  description: `Counts events that are stored now; a new event is counted within seconds. ${QUERY_LIMITS}`,
  access: viewer,
  body: Type.Object({ condition: SegmentConditionSchema }),
  answers: {
    200: { description: 'The number of people, and some of them', schema: SegmentPreview },
    ...busyOrLate,
  },
})

export const segmentsOperations = [
  createSegment,
  listSegments,
  getSegment,
  updateSegment,
  deleteSegment,
  previewSegment,
]
