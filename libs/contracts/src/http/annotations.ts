import { type Static, Type } from 'typebox'
import { Id, NullableId, notBlank, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'

/** Maximum characters of an annotation. */
export const MAX_ANNOTATION_LENGTH = 200
/** Maximum annotations of an answer. */
export const MAX_ANNOTATIONS = 200

/** A note of the team or of CI, or what Waymark knows: changes of decisions and steps of their ramps, and of event schemas. */
const annotationKinds = ['note', 'decision', 'schema'] as const
export type AnnotationKind = (typeof annotationKinds)[number]

const Kind = Type.Unsafe<AnnotationKind>({ type: 'string', enum: annotationKinds })

const NewAnnotation = Type.Object({
  text: Type.String({
    minLength: 1,
    maxLength: MAX_ANNOTATION_LENGTH,
    ...notBlank,
    description: 'What happened, such as `Deployed 1.4.0`.',
  }),
  at: Type.Optional(
    Type.String({ ...Timestamp, maxLength: 40, description: 'When it happened. Default: now.' }),
  ),
})

export const AnnotationView = Type.Object({
  id: Id,
  kind: Kind,
  text: Type.String(),
  at: Timestamp,
  resourceId: Type.Unsafe<string | null>({
    ...NullableId,
    description: 'The decision or the event definition that was changed; null for a note.',
  }),
})
export type AnnotationView = Static<typeof AnnotationView>

const AnnotationsQuery = Type.Object({
  from: Type.String({ ...Timestamp, maxLength: 40, description: 'Not before.' }),
  to: Type.String({ ...Timestamp, maxLength: 40, description: 'Before.' }),
})

const tag = 'Annotations'
const collection = '/api/projects/{projectId}/annotations'
const editor = { by: 'project', role: 'editor' } as const

export const createAnnotation = defineOperation({
  id: 'createAnnotation',
  method: 'post',
  path: collection,
  tag,
  summary: 'Note on all charts what happened at a time, such as a deployment',
  access: editor,
  effects: [],
  body: NewAnnotation,
  answers: { 201: { description: 'The annotation', schema: AnnotationView } },
})

export const listAnnotations = defineOperation({
  id: 'listAnnotations',
  method: 'get',
  path: collection,
  tag,
  summary: 'List what happened in a range of time',
  description:
    'Notes, and what Waymark knows: changes of decisions that are or were active, steps of ramps, and new versions of event schemas. ' +
    `Of more than ${MAX_ANNOTATIONS}, the last ones.`,
  access: { by: 'project', role: 'viewer' },
  query: AnnotationsQuery,
  answers: {
    200: {
      description: 'The annotations, the last first',
      schema: Type.Object({ data: Type.Array(AnnotationView, { maxItems: MAX_ANNOTATIONS }) }),
    },
  },
})

export const deleteAnnotation = defineOperation({
  id: 'deleteAnnotation',
  method: 'delete',
  path: `${collection}/{id}`,
  tag,
  summary: 'Delete a note',
  access: editor,
  effects: [],
  answers: { 204: { description: 'Deleted' } },
})

export const annotationOperations = [createAnnotation, listAnnotations, deleteAnnotation]
