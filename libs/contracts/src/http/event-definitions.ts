import { Type } from 'typebox'
import { Id, JsonObject, Name, NullableString, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf, pageParameters } from './page.ts'

/** Maximum size of a schema: the UTF-8 length of its compact JSON. */
export const MAX_SCHEMA_BYTES = 64 * 1024
/** Maximum nesting of a schema. */
export const MAX_SCHEMA_DEPTH = 32
/**
 * Maximum keywords and members of a schema; slow ones count several times. Compiling takes about 0.2 ms for each and blocks
 * other requests.
 */
export const MAX_SCHEMA_PARTS = 500
/** Maximum distinct regular expressions in a schema. */
export const MAX_SCHEMA_PATTERNS = 50

const Description = Type.Optional(
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 2_000, description: 'Null removes it.' }),
)
const PropertySchema = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description:
    'JSON Schema of the properties of such events: draft 2020-12, or 2019-09, draft-07 or draft-06 if `$schema` names it. ' +
    `At most ${MAX_SCHEMA_PARTS} parts (keywords and ` +
    `members as written; slow keywords count as several), ${MAX_SCHEMA_PATTERNS} different patterns, ${MAX_SCHEMA_DEPTH} ` +
    `levels and ${MAX_SCHEMA_BYTES} bytes. \`$ref\` points into the schema itself.`,
})

const NewEventDefinition = Type.Object({
  name: Name,
  description: Description,
  schema: PropertySchema,
})
const EventDefinitionPatch = Type.Object({ description: Description, schema: Type.Optional(PropertySchema) })

export const EventDefinitionView = Type.Object({
  id: Id,
  name: Type.String(),
  description: NullableString,
  schema: JsonObject,
  version: Type.Integer({ description: 'The number of schema changes.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  archivedAt: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'When it was archived; null while events are validated by it.',
  }),
})

export const VersionView = Type.Object({
  version: Type.Integer(),
  schema: JsonObject,
  createdAt: Timestamp,
})

/** Default and maximum number of events from which a schema is inferred. */
export const DEFAULT_SAMPLE_SIZE = 1_000
const MAX_SAMPLE_SIZE = 10_000
const InferenceRequest = Type.Object({
  eventName: Name,
  sampleSize: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_SAMPLE_SIZE,
      default: DEFAULT_SAMPLE_SIZE,
      description: 'The number of latest events to examine.',
    }),
  ),
})
const Inference = Type.Object({
  eventName: Type.String(),
  sampled: Type.Integer({ description: 'The number of examined events.' }),
  schema: JsonObject,
})

const tag = 'Event definitions'
const collection = '/api/projects/{projectId}/event-definitions'
const one = `${collection}/{id}`
const definition = { description: 'The definition', schema: EventDefinitionView }

export const createEventDefinition = defineOperation({
  id: 'createEventDefinition',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create an event definition',
  description:
    'A schema is refused with 422 and the rule `unsafe_schema` when it refers to other documents, exceeds a ' +
    'limit of `schema`, or has a pattern that could take exponential time; with `unsupported_keyword` when it has a ' +
    'keyword or a draft that is not supported; and with `unsupported_format` when a `format` is not checked.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: NewEventDefinition,
  answers: { 201: definition },
})

export const listEventDefinitions = defineOperation({
  id: 'listEventDefinitions',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the catalog',
  access: { by: 'project', role: 'viewer' },
  query: Type.Object({
    ...pageParameters,
    archived: Type.Boolean({
      default: false,
      description: 'Lists archived definitions instead of the others.',
    }),
  }),
  answers: {
    200: { description: 'A page of definitions, the newest first', schema: pageOf(EventDefinitionView) },
  },
})

export const getEventDefinition = defineOperation({
  id: 'getEventDefinition',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a definition',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: definition },
})

export const updateEventDefinition = defineOperation({
  id: 'updateEventDefinition',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change a definition',
  description: 'A changed schema creates a version.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: EventDefinitionPatch,
  answers: { 200: definition },
})

export const archiveEventDefinition = defineOperation({
  id: 'archiveEventDefinition',
  method: 'delete',
  path: one,
  tag,
  summary: 'Archive a definition',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: { 204: { description: 'Archived' } },
})

export const listEventDefinitionVersions = defineOperation({
  id: 'listEventDefinitionVersions',
  method: 'get',
  path: `${one}/versions`,
  tag,
  summary: 'List the schema versions of a definition',
  access: { by: 'project', role: 'viewer' },
  query: PageQuery,
  answers: { 200: { description: 'A page of versions, the newest first', schema: pageOf(VersionView) } },
})

export const inferEventSchema = defineOperation({
  id: 'inferEventSchema',
  takesLong: true,
  method: 'post',
  path: `${collection}/infer`,
  tag,
  summary: 'Infer a schema from stored events',
  description: 'Nothing is saved. All examined events match the schema.',
  access: { by: 'project', role: 'viewer' },
  effects: [],
  body: InferenceRequest,
  answers: { 200: { description: 'The proposed schema', schema: Inference } },
})

export const eventDefinitionOperations = [
  createEventDefinition,
  listEventDefinitions,
  getEventDefinition,
  updateEventDefinition,
  archiveEventDefinition,
  listEventDefinitionVersions,
  inferEventSchema,
]
