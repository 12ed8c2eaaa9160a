import type { Operation } from '../http/operation.ts'
import { operations } from '../http/operations.ts'

/** Operations that are offered as tools. Those that change something are offered only when that is allowed. */
const READING = [
  'getProject',
  'listEvents',
  'measureTrends',
  'measureFunnel',
  'measureRetention',
  'measurePaths',
  'measureWeb',
  'listProperties',
  'listPropertyValues',
  'listConversions',
  'listProfiles',
  'getProfile',
  'getProfileTimeline',
  'listEventDefinitions',
  'listRejectedEvents',
  'listMeteringSelectors',
  'listSegments',
  'previewSegment',
  'backtestSegment',
  'listEnvironments',
  'listDecisions',
  'getDecision',
  'previewDecision',
  'backtestDecision',
  'backtestEmailTrigger',
  'getDecisionStats',
  'getDecisionResults',
  'getDecisionHistory',
  'listLinks',
  'getLinkStats',
  'getLinkCampaignStats',
  'listCouponPools',
  'previewCouponPool',
  'backtestCouponPool',
  'listRedemptions',
  'listInsights',
  'listDashboards',
  'getPipelineStats',
  'getDeliveryStats',
] as const
const WRITING = [
  'createEventDefinition',
  'updateEventDefinition',
  'createSegment',
  'updateSegment',
  'createDecision',
  'updateDecision',
  'activateDecision',
  'pauseDecision',
  'createLink',
  'updateLink',
  'createInsight',
] as const

type Schema = { properties?: Record<string, object>; required?: string[] }

/** A tool: an operation with all its parameters and the fields of its body as arguments, without the project. */
export type Tool = {
  name: string
  description: string
  inputSchema: {
    type: 'object'
    properties: Record<string, object>
    required: string[]
    additionalProperties: false
  }
  annotations: { title: string; readOnlyHint: boolean; destructiveHint: boolean; openWorldHint: boolean }
  operation: Operation
  /** The arguments by where they are sent. */
  parts: { path: string[]; query: string[]; body: string[] }
}

/** The most records that a tool asks for at once. */
export const MAX_RECORDS = 100

/** The tools; with those that change something if `writes` is true. */
export const toolsOf = (writes: boolean): Tool[] =>
  [...READING, ...(writes ? WRITING : [])].map((id) => toolOf(operationOf(id)))

const operationOf = (id: string): Operation => {
  const found = operations.find((operation) => operation.id === id)
  if (!found) throw new Error(`There is no operation ${id}`)
  return found
}

const toolOf = (operation: Operation): Tool => {
  const { id, summary, description, path, method, readOnly } = operation
  const query = plain(operation.query?.schema)
  const body = plain(operation.body?.schema)
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) =>
    name === 'projectId' ? [] : [name],
  )
  const limit = query.properties?.limit && { limit: { ...query.properties.limit, maximum: MAX_RECORDS } }
  const isReading = method === 'get' || readOnly === true
  return {
    name: id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    description: [summary, description].filter(Boolean).join('. '),
    inputSchema: {
      type: 'object',
      properties: {
        ...Object.fromEntries(inPath.map((name) => [name, { type: 'string', minLength: 1 }])),
        ...query.properties,
        ...limit,
        ...body.properties,
      },
      required: [...inPath, ...requiredOf(query), ...(body.required ?? [])],
      additionalProperties: false,
    },
    annotations: {
      title: summary,
      readOnlyHint: isReading,
      destructiveHint: !isReading,
      openWorldHint: false,
    },
    operation,
    parts: {
      path: inPath,
      query: Object.keys(query.properties ?? {}),
      body: Object.keys(body.properties ?? {}),
    },
  }
}

/** A parameter with a default need not be given. */
const requiredOf = ({ properties = {}, required = [] }: Schema): string[] =>
  required.filter((name) => !('default' in (properties[name] ?? {})))

/** The schema as JSON, without what TypeBox hides in it. */
const plain = (schema: unknown): Schema =>
  schema === undefined ? {} : (JSON.parse(JSON.stringify(schema)) as Schema)
