import type { Client } from '@waymark/client'
import { ApiError } from '@waymark/client'
import { CliError, EXIT } from '../exit-codes.ts'
import { resourceOf } from './files.ts'
import { keyOf, type Lock } from './lock.ts'
import type { Change } from './plan.ts'
import { type Names, parametersOf, type StoredItem, send, storedItem } from './project.ts'
import { type Fields, patchValue, replaceAt, schemaOf } from './values.ts'

/**
 * Makes one change. The names learn the id of what is created, and the lock what is stored now.
 * @throws CliError when the resource was changed since the plan was made
 */
export const applyChange = async (
  client: Client,
  projectId: string,
  change: Change,
  names: Names,
  lock: Lock,
): Promise<void> => {
  const { action, kind, stored } = change
  const resource = resourceOf(kind)
  if (action === 'create' && resource.create) {
    const { data } = await send(client, resource.create, { projectId }, { body: withIds(change, names) })
    const created = storedItem(resource, data as Fields, names)
    // A selector is named after what was asked for: the API adds defaults.
    names.add({ kind, name: change.name }, created.id)
    names.add(created, created.id)
    lock[keyOf(created)] = { id: created.id, hash: created.hash, file: change.file ?? '' }
    return
  }
  if (stored === undefined) throw new Error(`${action} of ${kind} without what is stored`)
  const ifMatch = await checkUnchanged(client, projectId, stored, names)
  const operation = action === 'remove' ? resource.remove : resource.update
  if (!operation) throw new Error(`There is no way to ${action} ${kind}`)
  const body = action === 'remove' ? undefined : patchOf(change, stored, names)
  const parameters = parametersOf(operation, projectId, stored)
  const condition = operation.method === 'patch' || operation.method === 'delete' ? ifMatch : undefined
  const { data } = await send(client, operation, parameters, {
    ...(body && { body }),
    ...(condition && { ifMatch: condition }),
  }).catch((error: unknown) => {
    throw error instanceof ApiError && error.status === 412 ? changedMeanwhile(stored) : error
  })
  delete lock[keyOf(stored)]
  if (action === 'remove') return
  const updated = storedItem(resource, data as Fields, names)
  names.add(updated, stored.id)
  lock[keyOf(updated)] = { id: stored.id, hash: updated.hash, file: change.file ?? '' }
}

/** Reads a resource again. Resolves to its `ETag`, if it has one. @throws CliError when it has changed */
export const checkUnchanged = async (
  client: Client,
  projectId: string,
  stored: StoredItem,
  names: Names,
): Promise<string | undefined> => {
  const resource = resourceOf(stored.kind)
  if (!resource.get) return undefined
  const { data, response } = await send(client, resource.get, parametersOf(resource.get, projectId, stored))
  const now = storedItem(resource, data as Fields, names)
  if (now.hash !== stored.hash) throw changedMeanwhile(stored)
  return response.headers.get('ETag') ?? undefined
}

const changedMeanwhile = ({ kind, name }: StoredItem): CliError =>
  new CliError(`${kind}/${name} was changed meanwhile. Run \`waymark diff\` again.`, EXIT.refused)

/** The changed fields, with null for those that go. */
export const patchOf = (change: Change, stored: StoredItem, names: Names): Fields => {
  const { properties = {} } = schemaOf(resourceOf(change.kind))
  const request = resourceOf(change.kind).update?.body?.schema as
    | { properties?: Record<string, never> }
    | undefined
  const after = withIds(change, names)
  return Object.fromEntries(
    change.changes.map(({ field }) => [
      field,
      field in after
        ? patchValue(request?.properties?.[field] ?? properties[field], after[field], stored.fields[field])
        : null,
    ]),
  )
}

/** The fields with ids in place of names, and with whole secrets. */
export const withIds = ({ kind, fields, file, secrets }: Change, names: Names): Fields => {
  let found: unknown = { ...fields, ...secrets }
  for (const [path, target] of Object.entries(resourceOf(kind).references ?? {}))
    found = replaceAt(found, path, (name) => {
      const id = names.idOf(target, name)
      if (id === undefined)
        throw new CliError(`${file}: ${path} refers to ${name}, which is not in ${target}`)
      return id
    })
  return found as Fields
}
