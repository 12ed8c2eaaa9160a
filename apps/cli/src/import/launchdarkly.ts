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

type Options = {
  /** The environment whose targeting is imported. */
  environment: string
  /** Where conditions find attributes: `context` or `traits`. */
  root: string
}

/** LaunchDarkly's weights add up to this. */
const FULL_WEIGHT = 100_000

/** Reads flags as LaunchDarkly's API lists them: `{ "items": [...] }` with `summary=0`, a list, or one flag. */
export const readLaunchDarkly = (file: unknown, options: Options): Imported<ImportedFlag> => {
  const flags = objectsIn(Array.isArray(file) ? file : isObject(file) && file.items ? file.items : [file])
  const variantsOf = new Map(flags.map((flag) => [flag.key, variantsIn(flag)]))
  return readEach(
    flags,
    ({ key }, index) => `${textIn(key) ?? `flag ${index + 1}`}`,
    (flag) => readFlag(flag, variantsOf, options),
  )
}

const variantsIn = ({ variations }: JsonObject): Variant[] => {
  const all = objectsIn(variations)
  const keys = variantKeys(all.map(({ name, value }) => textIn(name) ?? String(isObject(value) ? '' : value)))
  return all.map(({ value }, index) => ({ key: keys[index] ?? '', value }))
}

const readFlag = (
  flag: JsonObject,
  variantsOf: ReadonlyMap<unknown, Variant[]>,
  { environment, root }: Options,
): ImportedFlag => {
  const key = textIn(flag.key)
  if (key === undefined) throw new Unsupported('it has no key')
  if (flag.archived === true) throw new Unsupported('it is archived')
  const targeting = isObject(flag.environments) ? flag.environments[environment] : undefined
  if (!isObject(targeting)) throw new Unsupported(`it has no environment ${environment}`)
  if (!('fallthrough' in targeting))
    throw new Unsupported('the file has no targeting: export it with the query parameter summary=0')
  const variants = variantsOf.get(flag.key) ?? []
  const variantAt = variantAtIn(variants)
  const prerequisites = objectsIn(targeting.prerequisites).map(({ key: other, variation }) => {
    const others = variantsOf.get(other)
    if (!others) throw new Unsupported(`its prerequisite ${other} is not in the file`)
    return { decision: `${other}`, variants: [variantAtIn(others)(variation)] }
  })
  const serve = (served: JsonObject): Rule => ({
    ...servedBy(served, variantAt),
    ...(prerequisites.length > 0 && { prerequisites }),
  })
  const targets = [...objectsIn(targeting.targets), ...objectsIn(targeting.contextTargets)]
  const rules = [
    ...targets.flatMap((target) =>
      Array.isArray(target.values) && target.values.length > 0
        ? [{ ...serve(target), condition: { in: [attribute(root, 'key'), target.values] } }]
        : [],
    ),
    ...objectsIn(targeting.rules).map((rule) => ({
      ...serve(rule),
      ...conditionOf(rule, root),
      ...(textIn(rule.description) && { description: `${rule.description}` }),
    })),
    ...(isObject(targeting.fallthrough) ? [serve(targeting.fallthrough)] : []),
  ]
  return {
    isOn: targeting.on === true,
    decision: {
      key,
      ...(textIn(flag.name) && { name: `${flag.name}` }),
      ...(textIn(flag.description) && { description: `${flag.description}` }),
      variants,
      fallbackVariant: variantAt(targeting.offVariation ?? variants.length - 1),
      rules,
    },
  }
}

const variantAtIn =
  (variants: readonly Variant[]) =>
  (index: unknown): string => {
    const variant = typeof index === 'number' ? variants[index] : undefined
    if (!variant) throw new Unsupported(`it has no variation ${JSON.stringify(index)}`)
    return variant.key
  }

const servedBy = (
  { variation, rollout }: JsonObject,
  variantAt: (index: unknown) => string,
): Pick<Rule, 'variant' | 'split'> => {
  if (variation !== undefined) return { variant: variantAt(variation) }
  if (!isObject(rollout)) throw new Unsupported('a rule serves no variation')
  if ((rollout.bucketBy ?? 'key') !== 'key') throw new Unsupported(`a rollout is by ${rollout.bucketBy}`)
  const shares = objectsIn(rollout.variations)
  const total = shares.reduce((sum, { weight }) => sum + Number(weight), 0)
  if (total !== FULL_WEIGHT) throw new Unsupported(`the weights of a rollout add up to ${total}`)
  return {
    split: shares.map(({ variation: index, weight }) => ({
      variant: variantAt(index),
      weight: Number(weight),
    })),
  }
}

const conditionOf = ({ clauses }: JsonObject, root: string): Pick<Rule, 'condition'> => {
  const condition = all(objectsIn(clauses).map((clause) => clauseOf(clause, root)))
  return condition ? { condition } : {}
}

const OPERATORS: Record<string, keyof typeof comparisons> = {
  in: 'equals',
  contains: 'contains',
  startsWith: 'startsWith',
  endsWith: 'endsWith',
  lessThan: 'less',
  lessThanOrEqual: 'lessOrEqual',
  greaterThan: 'greater',
  greaterThanOrEqual: 'greaterOrEqual',
}

const clauseOf = ({ attribute: name, op, values, negate, contextKind }: JsonObject, root: string): object => {
  if ((contextKind ?? 'user') !== 'user' && op !== 'segmentMatch')
    throw new Unsupported(`a condition is about contexts of the kind ${contextKind}`)
  const wanted: unknown[] = Array.isArray(values) ? values : []
  const condition =
    op === 'segmentMatch' ? any(wanted.map((segment) => ({ segment }))) : compared(op, name, wanted, root)
  return negate === true ? { '!': condition } : condition
}

const compared = (op: unknown, name: unknown, wanted: unknown[], root: string): object => {
  const compare = comparisons[OPERATORS[`${op}`] ?? '']
  if (!compare) throw new Unsupported(`a condition uses the operator ${op}`)
  // A reference such as /address/city.
  const path = `${name ?? ''}`.replace(/^\//, '').replaceAll('/', '.')
  const value = attribute(root, path)
  if (op === 'in' && wanted.length > 1) return { in: [value, wanted] }
  return any(wanted.map((one) => compare(value, one)))
}
