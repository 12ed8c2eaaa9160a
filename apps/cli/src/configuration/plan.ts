import {
  type ConfigurationKind,
  configurationFields,
  configurationKinds,
} from '@waymark/contracts/configuration'
import { CliError } from '../exit-codes.ts'
import { type FileItem, resourceOf } from './files.ts'
import { keyOf, type Lock } from './lock.ts'
import type { Project, StoredItem } from './project.ts'
import { canonical, completed, type Fields, isEqual, isObject, replaceAt } from './values.ts'

/** The change of a field. Undefined where there is no value. */
export type FieldChange = { field: string; from: unknown; to: unknown }

/** A change that makes a project what files say. */
export type Change = {
  action: 'create' | 'update' | 'remove'
  kind: ConfigurationKind
  name: string
  file?: string
  /** All fields as they are to be. Empty for `remove`. */
  fields: Fields
  /** Whole secret addresses, in place of those in `fields`. */
  secrets?: Fields
  changes: FieldChange[]
  /** The resource as it is stored. Absent for `create`. */
  stored?: StoredItem
  /** Whether the stored resource is another than when it was pulled. */
  isConflict: boolean
}

/** What differs between files and a project. */
export type Plan = {
  /** In an order in which each change comes after those that it needs. */
  changes: Change[]
  /** Resources of the project without a file, which stay unless they are pruned. */
  unmanaged: StoredItem[]
}

/**
 * Compares files with a project.
 * @throws CliError for a change that the API does not allow, and for a reference to nothing
 */
export const planChanges = (
  files: readonly FileItem[],
  project: Project,
  lock: Lock | undefined,
  prune: boolean,
): Plan => {
  const stored = new Map(project.items.map((item) => [keyOf(item), item]))
  const wanted = new Set(files.map(keyOf))
  const matches = files.map((item) => ({
    item,
    found: stored.get(keyOf(item)) ?? renamed(item, wanted, stored, lock),
  }))
  const names = new Map(matches.flatMap(({ item, found }) => (found ? [[keyOf(found), item.name]] : [])))
  const changes = matches.flatMap(
    ({ item, found }) => (found ? updateOf(item, withNames(found, names), lock) : creationOf(item)) ?? [],
  )
  for (const { found } of matches) if (found) wanted.add(keyOf(found))
  checkReferences(files, project)
  const unmanaged = project.items.filter((item) => !wanted.has(keyOf(item)) && resourceOf(item.kind).remove)
  const removals = prune ? unmanaged.map((item) => removalOf(item, lock)) : []
  return { changes: [...inOrder(changes), ...inOrder(removals).reverse()], unmanaged }
}

const creationOf = ({ kind, name, file, fields, secrets }: FileItem): Change => ({
  action: 'create',
  kind,
  name,
  file,
  fields,
  secrets,
  changes: changesOf({}, fields),
  isConflict: false,
})

const updateOf = (item: FileItem, stored: StoredItem, lock: Lock | undefined): Change | undefined => {
  const { kind, name, file } = item
  const resource = resourceOf(kind)
  const fields = completed(resource, item.fields, stored.fields)
  const changes = changesOf(stored.fields, fields)
  if (changes.length === 0) return undefined
  const allowed = kind === 'settings' ? Object.keys(configurationFields(resource)) : fieldsOfUpdate(kind)
  const fixed = changes.filter(({ field }) => !allowed.includes(field)).map(({ field }) => field)
  if (fixed.length > 0)
    throw new CliError(
      `${file}: ${fixed.join(', ')} of ${name} cannot be changed. Give a new one another name.`,
    )
  const { secrets } = item
  return {
    action: 'update',
    kind,
    name,
    file,
    fields,
    secrets,
    changes,
    stored,
    isConflict: isChanged(stored, lock),
  }
}

const fieldsOfUpdate = (kind: ConfigurationKind): string[] => {
  const schema = resourceOf(kind).update?.body?.schema as { properties?: object } | undefined
  return Object.keys(schema?.properties ?? {})
}

const removalOf = (stored: StoredItem, lock: Lock | undefined): Change => ({
  action: 'remove',
  kind: stored.kind,
  name: stored.name,
  fields: {},
  changes: changesOf(stored.fields, {}),
  stored,
  isConflict: isChanged(stored, lock),
})

/** Whether a resource was changed, or created, by others since the project was pulled or applied. */
const isChanged = (stored: StoredItem, lock: Lock | undefined): boolean =>
  lock !== undefined && lock[keyOf(stored)]?.hash !== stored.hash

/** The stored resource whose file has another name in it by now. */
const renamed = (
  { kind, file }: FileItem,
  wanted: ReadonlySet<string>,
  stored: ReadonlyMap<string, StoredItem>,
  lock: Lock = {},
): StoredItem | undefined => {
  const { identity } = resourceOf(kind)
  if (identity === undefined || !fieldsOfUpdate(kind).includes(identity)) return undefined
  const [before] = Object.entries(lock).find(
    ([key, known]) => known.file === file && key.startsWith(`${kind}/`) && !wanted.has(key),
  ) ?? ['']
  return stored.get(before)
}

const changesOf = (from: Fields, to: Fields): FieldChange[] =>
  [...new Set([...Object.keys(from), ...Object.keys(to)])]
    .filter((field) => !isEqual(from[field], to[field]))
    .map((field) => ({ field, from: from[field], to: to[field] }))

/** A stored resource that refers to others by the names that they are to have. */
const withNames = (item: StoredItem, names: ReadonlyMap<string, string>): StoredItem => {
  let fields: unknown = item.fields
  for (const [path, target] of Object.entries(resourceOf(item.kind).references ?? {}))
    fields = replaceAt(fields, path, (name) => names.get(`${target}/${name}`) ?? name)
  return { ...item, fields: fields as Fields }
}

/** Every reference must be to something in the files or in the project. */
const checkReferences = (files: readonly FileItem[], { names }: Project): void => {
  const inFiles = new Set(files.map(keyOf))
  for (const { kind, file, fields } of files)
    for (const [path, target] of Object.entries(resourceOf(kind).references ?? {}))
      for (const name of valuesAt(fields, path))
        if (!inFiles.has(`${target}/${name}`) && names.idOf(target, name) === undefined)
          throw new CliError(
            `${file}: ${path} refers to ${name}, but there is none of that name in ${target}`,
          )
}

const valuesAt = (value: unknown, path: string): unknown[] => {
  if (value === undefined || value === null) return []
  if (path === '') return [value]
  if (path.startsWith('[]')) {
    const rest = path.slice(2).replace(/^\./, '')
    return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, rest)) : []
  }
  const [, name = '', rest = ''] = /^([^.[]+)\.?(.*)$/.exec(path) ?? []
  return isObject(value) ? valuesAt(value[name], rest) : []
}

/** Kinds in the order of what they refer to, and decisions after those that their rules require. */
const inOrder = (changes: readonly Change[]): Change[] => {
  const order = (kind: ConfigurationKind) => configurationKinds.indexOf(kind)
  const sorted = changes.toSorted((a, b) => order(a.kind) - order(b.kind))
  const decisions = new Map(sorted.filter(({ kind }) => kind === 'decisions').map((one) => [one.name, one]))
  const done = new Set<Change>()
  const add = (change: Change, above: ReadonlySet<string>): void => {
    if (done.has(change)) return
    for (const name of change.kind === 'decisions' ? requiredBy(change) : []) {
      const required = decisions.get(name)
      if (required && !above.has(name)) add(required, new Set([...above, change.name]))
    }
    done.add(change)
  }
  for (const change of sorted) add(change, new Set())
  return [...done]
}

/** The keys of the decisions that the rules of a decision require, in any environment. */
const requiredBy = ({ fields, stored }: Change): string[] =>
  [
    ...canonical(stored && Object.keys(fields).length === 0 ? stored.fields : fields).matchAll(
      /"decision":"([^"]+)"/g,
    ),
  ].map(([, key = '']) => key)

/** The conflicts of a plan as text for users. */
export const describeConflicts = (changes: readonly Change[]): string =>
  changes
    .filter(({ isConflict }) => isConflict)
    .map(({ kind, name }) => `  ${kind}/${name}`)
    .join('\n')
