import type { ValidationItem } from '@waymark/contracts/http/track-result'

/** The drafts of JSON Schema in which an event schema may be written. */
export type Draft = '2020-12' | '2019-09' | 'draft-07' | 'draft-06'

/** The draft of a schema without `$schema`. */
export const DEFAULT_DRAFT: Draft = '2020-12'
const DRAFT_URIS: ReadonlyMap<string, Draft> = new Map([
  ['json-schema.org/draft/2020-12/schema', '2020-12'],
  ['json-schema.org/draft/2019-09/schema', '2019-09'],
  ['json-schema.org/draft-07/schema', 'draft-07'],
  ['json-schema.org/draft-06/schema', 'draft-06'],
])
const SUPPORTED_URIS =
  'https://json-schema.org/draft/2020-12/schema, https://json-schema.org/draft/2019-09/schema, ' +
  'http://json-schema.org/draft-07/schema#, http://json-schema.org/draft-06/schema#'

/** What a keyword holds: one schema, a list or an object of them, a value, or an annotation that checks nothing. */
type Content = 'schema' | 'schemas' | 'members' | 'value' | 'annotation'

const named = (content: Content, names: string): [string, Content][] =>
  names.split(' ').map((name) => [name, content])

const SINCE_DRAFT_06 = [
  ...named('schema', 'not additionalProperties propertyNames items contains'),
  ...named('schemas', 'allOf anyOf oneOf'),
  ...named('members', 'properties patternProperties definitions dependencies'),
  ...named('value', '$ref type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum'),
  ...named('value', 'maxLength minLength pattern format maxItems minItems uniqueItems'),
  ...named('value', 'maxProperties minProperties required'),
  ...named('annotation', '$schema title description default examples'),
]
const SINCE_DRAFT_07 = [
  ...SINCE_DRAFT_06,
  ...named('schema', 'if then else'),
  ...named('annotation', '$comment readOnly writeOnly contentEncoding contentMediaType'),
]
const SINCE_2019_09 = [
  ...SINCE_DRAFT_07,
  ...named('schema', 'unevaluatedItems unevaluatedProperties'),
  ...named('members', '$defs dependentSchemas'),
  ...named('value', 'minContains maxContains dependentRequired'),
  ...named('annotation', 'deprecated contentSchema'),
]
const LISTS_OF_ITEMS = named('schema', 'additionalItems')

const VOCABULARIES: Readonly<Record<Draft, ReadonlyMap<string, Content>>> = {
  'draft-06': new Map([...SINCE_DRAFT_06, ...LISTS_OF_ITEMS]),
  'draft-07': new Map([...SINCE_DRAFT_07, ...LISTS_OF_ITEMS]),
  '2019-09': new Map([...SINCE_2019_09, ...LISTS_OF_ITEMS]),
  '2020-12': new Map([...SINCE_2019_09, ...named('schemas', 'prefixItems')]),
}

const ADVICE: Readonly<Record<string, string>> = {
  nullable: '; write type: ["string", "null"] instead',
  additionalItems: '; write items next to prefixItems instead',
  example: '; write examples instead',
}

type Schema = { [keyword: string]: unknown }

/** Whether a JSON value is an object. */
export const isSchemaObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The draft that `$schema` names, 2020-12 without one, or `undefined` for one that is not supported. */
export const draftOf = (schema: object): Draft | undefined => {
  if (!Object.hasOwn(schema, '$schema')) return DEFAULT_DRAFT
  const uri: unknown = Reflect.get(schema, '$schema')
  return typeof uri === 'string'
    ? DRAFT_URIS.get(uri.replace(/^https?:\/\//, '').replace(/#$/, ''))
    : undefined
}

/** Extensions that check nothing, in the spelling that later drafts of JSON Schema reserve for them. */
const isExtension = (keyword: string): boolean => keyword.startsWith('x-')

const contentOf = (keyword: string, draft: Draft): Content | undefined =>
  VOCABULARIES[draft].get(keyword) ?? (isExtension(keyword) ? 'annotation' : undefined)

/** A subschema with its JSON pointer, such as `/properties/total`, and where it is in words. */
type Position = { pointer: string; field: string; schema: Schema }

/** The subschemas that a keyword holds. Members that are no objects are left out. */
const subschemasOf = (content: Content | undefined, value: unknown): [string | undefined, unknown][] => {
  // `items` of older drafts is one schema or a list, and members of `dependencies` may be lists of names.
  if (Array.isArray(value))
    return content === 'schema' || content === 'schemas'
      ? value.map((child, index) => [`${index}`, child])
      : []
  if (content === 'schema') return [[undefined, value]]
  return content === 'members' && isSchemaObject(value) ? Object.entries(value) : []
}

const escaped = (step: string): string => step.replaceAll('~', '~0').replaceAll('/', '~1')

/** All subschemas of a schema, itself first. Values, annotations and unknown keywords are not searched. */
export const positionsIn = (root: object, draft = draftOf(root) ?? DEFAULT_DRAFT): Position[] => {
  const found: Position[] = []
  const pending: Position[] = [{ pointer: '', field: 'schema', schema: root as Schema }]
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    found.push(current)
    const { pointer, field } = current
    for (const [keyword, value] of Object.entries(current.schema)) {
      for (const [step, schema] of subschemasOf(contentOf(keyword, draft), value)) {
        if (!isSchemaObject(schema)) continue
        const inside = step === undefined ? '' : `/${escaped(step)}`
        const dotted = step === undefined ? '' : `.${step}`
        pending.push({
          pointer: `${pointer}/${keyword}${inside}`,
          field: `${field}.${keyword}${dotted}`,
          schema,
        })
      }
    }
  }
  return found
}

const unsupported = (field: string, message: string, actual?: unknown): ValidationItem => ({
  field,
  rule: 'unsupported_keyword',
  message,
  ...(actual !== undefined && { actual }),
})

/**
 * The first thing in a schema that is not supported: its draft, a keyword, or a reference. Only keywords are examined:
 * a property may have any name, and `const` any value.
 */
export const vocabularyProblem = (root: object): ValidationItem | undefined => {
  const draft = draftOf(root)
  if (draft === undefined) {
    const message = `must be one of ${SUPPORTED_URIS}, or absent for draft 2020-12`
    return unsupported('schema.$schema', message, shortened(Reflect.get(root, '$schema')))
  }
  const positions = positionsIn(root, draft)
  const pointers = new Set(positions.map(({ pointer }) => pointer))
  for (const position of positions) {
    const problem =
      keywordProblem(position, draft) ??
      referenceProblem(position, draft, pointers) ??
      itemsProblem(position, draft)
    if (problem) return problem
  }
  return undefined
}

const keywordProblem = ({ field, pointer, schema }: Position, draft: Draft): ValidationItem | undefined => {
  const keyword = Object.keys(schema).find(
    (name) => contentOf(name, draft) === undefined || (name === '$schema' && pointer !== ''),
  )
  if (keyword === undefined) return undefined
  if (keyword === '$schema')
    return unsupported(field, 'has the keyword "$schema", which only the root may have')
  const advice = Object.hasOwn(ADVICE, keyword) ? ADVICE[keyword] : ''
  return unsupported(
    field,
    `has the keyword ${JSON.stringify(shortened(keyword))}, which is not supported${advice}; allowed in ${draft}: ` +
      `${[...VOCABULARIES[draft].keys()].sort().join(', ')}, and annotations that start with x-`,
  )
}

const referenceProblem = (
  { field, schema }: Position,
  draft: Draft,
  pointers: ReadonlySet<string>,
): ValidationItem | undefined => {
  if (!Object.hasOwn(schema, '$ref')) return undefined
  const reference = schema.$ref
  const unsafe = (message: string): ValidationItem => ({
    field: `${field}.$ref`,
    rule: 'unsafe_schema',
    message,
    actual: shortened(reference),
  })
  if (typeof reference !== 'string' || !reference.startsWith('#'))
    return unsafe('may only point into the schema')
  const steps = stepsOf(reference)
  if (!steps) return unsafe('must be a JSON pointer such as #/$defs/address')
  if (!pointers.has(steps.map((step) => `/${escaped(step)}`).join('')))
    return unsafe('must point to a schema, such as a member of $defs')
  if (draft !== 'draft-07' && draft !== 'draft-06') return undefined
  const sibling = Object.keys(schema).find((keyword) => !mayStandBesideRef(keyword, draft))
  return sibling === undefined
    ? undefined
    : unsupported(
        field,
        `has ${sibling} next to $ref, which ${draft} ignores; put both into allOf, or name draft 2020-12 in $schema`,
      )
}

const mayStandBesideRef = (keyword: string, draft: Draft): boolean =>
  keyword === '$ref' || keyword === 'definitions' || contentOf(keyword, draft) === 'annotation'

const itemsProblem = ({ field, schema }: Position, draft: Draft): ValidationItem | undefined =>
  draft === '2020-12' && Array.isArray(schema.items)
    ? unsupported(
        `${field}.items`,
        'must be one schema; write prefixItems for a list of schemas, or name an older draft in $schema',
      )
    : undefined

const MAX_SHOWN_LENGTH = 100
const shortened = (value: unknown): unknown =>
  typeof value === 'string' ? value.slice(0, MAX_SHOWN_LENGTH).toWellFormed() : value

/** The steps of a JSON pointer in a URI fragment such as `#/$defs/a`, or `undefined` for other text. */
export const stepsOf = (fragment: string): string[] | undefined => {
  if (fragment !== '#' && !fragment.startsWith('#/')) return undefined
  try {
    return fragment
      .slice(1)
      .split('/')
      .slice(1)
      .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
  } catch {
    return undefined
  }
}

/**
 * The keywords that schemas of earlier versions may hold, although they are no longer supported.
 * They are ignored when events are checked.
 */
export const unsupportedKeywords = (root: object): string[] => {
  const draft = draftOf(root) ?? DEFAULT_DRAFT
  const keywords = positionsIn(root, draft).flatMap(({ schema }) => Object.keys(schema))
  return [...new Set(keywords)].filter((keyword) => contentOf(keyword, draft) === undefined)
}

/** A copy of a schema with only the keywords that check something, at the same JSON pointers. */
export const checkingPart = (root: object): object =>
  checkingMembers(root as Schema, draftOf(root) ?? DEFAULT_DRAFT)

const checkingPartOf = (schema: unknown, draft: Draft): unknown =>
  isSchemaObject(schema) ? checkingMembers(schema, draft) : schema

const checkingMembers = (schema: Schema, draft: Draft): object => {
  const kept = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    const content = contentOf(keyword, draft)
    // Earlier versions accepted `nullable`, and Ajv applies it.
    if (content === undefined) return keyword === 'nullable' ? [[keyword, value]] : []
    return content === 'annotation' ? [] : [[keyword, contentWith(content, value, draft)]]
  })
  return Object.fromEntries(kept)
}

const contentWith = (content: Content, value: unknown, draft: Draft): unknown => {
  if (content === 'value') return value
  if (Array.isArray(value)) return value.map((child) => checkingPartOf(child, draft))
  if (content !== 'members' || !isSchemaObject(value)) return checkingPartOf(value, draft)
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, checkingPartOf(child, draft)]),
  )
}
