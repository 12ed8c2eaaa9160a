import {
  all,
  any,
  attribute,
  comparisons,
  type ImportedFlag,
  type Rule,
  type Variant,
  variantKeys,
} from './flags.ts'
import {
  type Imported,
  isObject,
  type JsonObject,
  objectsIn,
  readEach,
  textIn,
  Unsupported,
} from './imported.ts'

/** Where conditions find fields of the context: `context` or `traits`. */
type Options = { root: string }

const OFF: Variant = { key: 'off', value: false }
const ON: Variant = { key: 'on', value: true }

/** Reads the flags of an export of one environment of Unleash. */
export const readUnleash = (file: unknown, { root }: Options): Imported<ImportedFlag> => {
  const { features, featureStrategies, featureEnvironments, segments } = isObject(file) ? file : {}
  const ofFlag = (list: unknown, name: unknown) => objectsIn(list).filter((one) => featureOf(one) === name)
  return readEach(
    objectsIn(features),
    ({ name }, index) => textIn(name) ?? `feature ${index + 1}`,
    (feature) =>
      readFlag(feature, {
        root,
        strategies: ofFlag(featureStrategies, feature.name),
        environment: ofFlag(featureEnvironments, feature.name)[0] ?? {},
        segments: new Map(objectsIn(segments).map((segment) => [segment.id, segment])),
        parents: parentsOf(file, feature.name),
      }),
  )
}

const featureOf = ({ featureName, name }: JsonObject): unknown => featureName ?? name

type Parts = {
  root: string
  strategies: JsonObject[]
  environment: JsonObject
  segments: ReadonlyMap<unknown, JsonObject>
  parents: JsonObject[]
}

const parentsOf = (file: unknown, name: unknown): JsonObject[] =>
  objectsIn(isObject(file) ? file.dependencies : undefined)
    .filter(({ feature }) => feature === name)
    .flatMap(({ dependencies }) => objectsIn(dependencies))

const readFlag = (feature: JsonObject, parts: Parts): ImportedFlag => {
  const { strategies, environment, parents } = parts
  const key = textIn(feature.name)
  if (key === undefined) throw new Unsupported('it has no name')
  if (feature.archived === true) throw new Unsupported('it is archived')
  if (parents.length > 0)
    throw new Unsupported(`it depends on ${parents.map((one) => one.feature).join(', ')}`)
  const active = strategies.filter(({ disabled }) => disabled !== true)
  const ofFlag = objectsIn(environment.variants)
  const named = [...ofFlag, ...active.flatMap(({ variants }) => objectsIn(variants))]
  const variants = variantsOf(named)
  const rules = active.map((strategy) => ruleOf(strategy, ofFlag, variants.keys, parts))
  return {
    isOn: environment.enabled === true,
    decision: {
      key,
      ...(textIn(feature.description) && { description: `${feature.description}` }),
      variants: variants.all,
      fallbackVariant: OFF.key,
      // Without a strategy, a flag that is on is on for everyone.
      rules: rules.length > 0 ? rules : [servedBy(ofFlag, variants.keys)],
    },
  }
}

/** The variants of a flag, and their keys by name. A flag without variants is on or off. */
const variantsOf = (named: readonly JsonObject[]): { all: Variant[]; keys: Map<unknown, string> } => {
  const byName = new Map(named.map((one) => [one.name, one]))
  if (byName.size === 0) return { all: [ON, OFF], keys: new Map() }
  const names = [...byName.keys()].map((name) => `${name}`)
  const keys = variantKeys([OFF.key, ...names]).slice(1)
  return {
    all: [
      ...[...byName.values()].map((one, index) => ({ key: keys[index] ?? '', value: payloadOf(one) })),
      OFF,
    ],
    keys: new Map(names.map((name, index) => [name, keys[index] ?? ''])),
  }
}

const payloadOf = ({ name, payload }: JsonObject): unknown => {
  if (!isObject(payload)) return name
  const { type, value } = payload
  if (type !== 'json' && type !== 'number') return value
  try {
    return JSON.parse(`${value}`)
  } catch {
    throw new Unsupported(`the payload of the variant ${name} is no ${type}`)
  }
}

const servedBy = (
  variants: readonly JsonObject[],
  keys: ReadonlyMap<unknown, string>,
): Pick<Rule, 'variant' | 'split'> => {
  if (variants.length === 0) {
    if (keys.size > 0) throw new Unsupported('only some of its strategies have variants')
    return { variant: ON.key }
  }
  return {
    split: variants.map(({ name, weight }) => ({ variant: keys.get(name) ?? '', weight: Number(weight) })),
  }
}

const ruleOf = (
  strategy: JsonObject,
  ofFlag: readonly JsonObject[],
  keys: ReadonlyMap<unknown, string>,
  { root, segments }: Parts,
): Rule => {
  const own = objectsIn(strategy.variants)
  const inSegments = (Array.isArray(strategy.segments) ? strategy.segments : []).flatMap((id) => {
    const segment = segments.get(id)
    if (!Array.isArray(segment?.constraints))
      throw new Unsupported(`the file has no constraints of the segment ${segment?.name ?? id}`)
    return objectsIn(segment.constraints)
  })
  const constraints = [...inSegments, ...objectsIn(strategy.constraints)].map((one) =>
    constraintOf(one, root),
  )
  const { conditions, rollout } = activation(strategy, root)
  const condition = all([...constraints, ...conditions])
  const title = textIn(strategy.title)
  return {
    ...servedBy(own.length > 0 ? own : ofFlag, keys),
    ...(condition && { condition }),
    ...(rollout !== undefined && { rollout }),
    ...(title !== undefined && { description: title }),
  }
}

/** Whom a strategy activates, beside its constraints. */
const activation = (
  { name, parameters }: JsonObject,
  root: string,
): { conditions: object[]; rollout?: number } => {
  const given = isObject(parameters) ? parameters : {}
  if (name === 'default') return { conditions: [] }
  if (name === 'userWithId') {
    const ids = `${given.userIds ?? ''}`.split(',').map((id) => id.trim())
    return { conditions: [{ in: [attribute(root, 'userId'), ids.filter(Boolean)] }] }
  }
  if (name === 'flexibleRollout') {
    const { rollout, stickiness = 'default' } = given
    if (!['default', 'userId', 'sessionId'].includes(`${stickiness}`))
      throw new Unsupported(`a rollout is by ${stickiness}`)
    return { conditions: [], rollout: Number(rollout ?? 100) }
  }
  if (`${name}`.startsWith('gradualRollout'))
    return { conditions: [], rollout: Number(given.percentage ?? 100) }
  throw new Unsupported(`it uses the strategy ${name}`)
}

/** The comparison of an operator, and whether it is with any of `values` or with `value`. */
const OPERATORS: Record<string, { compare: keyof typeof comparisons; many: boolean }> = {
  IN: { compare: 'equals', many: true },
  NOT_IN: { compare: 'equals', many: true },
  STR_CONTAINS: { compare: 'contains', many: true },
  STR_STARTS_WITH: { compare: 'startsWith', many: true },
  STR_ENDS_WITH: { compare: 'endsWith', many: true },
  NUM_EQ: { compare: 'equals', many: false },
  NUM_LT: { compare: 'less', many: false },
  NUM_LTE: { compare: 'lessOrEqual', many: false },
  NUM_GT: { compare: 'greater', many: false },
  NUM_GTE: { compare: 'greaterOrEqual', many: false },
}

const constraintOf = (constraint: JsonObject, root: string): object => {
  const { contextName, operator, values, value, inverted, caseInsensitive } = constraint
  const found = OPERATORS[`${operator}`]
  const compare = found && comparisons[found.compare]
  if (!compare) throw new Unsupported(`a constraint uses the operator ${operator}`)
  if (caseInsensitive === true) throw new Unsupported('a constraint ignores case')
  const field = attribute(root, `${contextName ?? ''}`)
  const wanted: unknown[] = found.many ? (Array.isArray(values) ? values : []) : [value]
  const compared = wanted.map((one) => compare(field, operator === 'NUM_EQ' ? Number(one) : one))
  const condition = any(compared)
  return (operator === 'NOT_IN') === (inverted === true) ? condition : { '!': condition }
}
