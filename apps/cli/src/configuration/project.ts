import type { Client } from '@waymark/client'
import { ApiError } from '@waymark/client'
import {
  type ConfigurationKind,
  type ConfigurationResource,
  configurationFields,
  configurationResources,
} from '@waymark/contracts/configuration'
import type { Operation } from '@waymark/contracts/http/operation'
import { CliError, EXIT } from '../exit-codes.ts'
import { canonical, compact, type Fields, hashOf, replaceAt, schemaOf } from './values.ts'

/** A resource, of a project or of a file. References are names. */
export type Item = {
  kind: ConfigurationKind
  /** What others refer to it by, and what messages call it. */
  name: string
  fields: Fields
}
/** A resource of the project. */
export type StoredItem = Item & { id: string; hash: string }

/** The configuration of a project, and how its resources are named. */
export type Project = {
  items: readonly StoredItem[]
  names: Names
}

/** The names of resources by their ids, and back. */
export class Names {
  private readonly names = new Map<string, string>()
  private readonly ids = new Map<string, string>()

  add({ kind, name }: Pick<Item, 'kind' | 'name'>, id: string): void {
    this.names.set(`${kind}/${id}`, name)
    this.ids.set(`${kind}/${name}`, id)
  }
  nameOf(kind: ConfigurationKind, id: unknown): unknown {
    return this.names.get(`${kind}/${id}`) ?? id
  }
  idOf(kind: ConfigurationKind, name: unknown): string | undefined {
    return this.ids.get(`${kind}/${name}`)
  }
}

/** The name of a resource: its identity, or what it is made of. */
export const nameOf = ({ kind, identity }: ConfigurationResource, fields: Fields): string => {
  if (kind === 'settings') return 'settings'
  if (identity !== undefined) return String(fields[identity])
  const { eventName, ...others } = fields
  return Object.keys(others).length === 0 ? String(eventName) : `${eventName}.${hashOf(others).slice(0, 6)}`
}

/** Reads the whole configuration of a project. @throws CliError when two resources have one name */
export const readProject = async (client: Client, projectId: string): Promise<Project> => {
  const names = new Names()
  const items: StoredItem[] = []
  for (const resource of configurationResources) {
    const views = await readAll(client, projectId, resource)
    for (const view of views.filter((one) => !resource.isLeftOut?.(one))) {
      const item = storedItem(resource, view, names)
      // The same selector twice counts conversions twice, and is one file.
      if (names.idOf(item.kind, item.name) !== undefined && resource.identity !== undefined)
        throw new CliError(
          `The project has two ${item.kind} with the ${resource.identity} ${item.name}. Rename one: files tell them apart by it.`,
          EXIT.refused,
        )
      if (names.idOf(item.kind, item.name) === undefined) items.push(item)
      names.add(item, item.id)
    }
  }
  return { items, names }
}

/** What is configuration of a resource that was read. */
export const storedItem = (resource: ConfigurationResource, view: Fields, names: Names): StoredItem => {
  const { kind, initial = [], defaults = {} } = resource
  const configured = Object.fromEntries(
    Object.keys(configurationFields(resource))
      .filter((name) => name in view)
      // A pool without codes has the size 0, and a shared one no alphabet.
      .filter((name) => !initial.includes(name) || (view[name] !== 0 && view[name] !== ''))
      .map((name) => [name, view[name]]),
  )
  const schema = schemaOf(resource)
  const fields = compact(schema, namesOfIds(resource, configured, names), defaults) as Fields
  const name = nameOf(resource, fields)
  const id = String(view.id ?? view.key ?? name)
  // Of what it refers to, the id counts: another name of that is no change of this.
  return { kind, name, id, fields, hash: hashOf(compact(schema, configured, defaults)) }
}

const namesOfIds = ({ references = {} }: ConfigurationResource, fields: Fields, names: Names): unknown => {
  let named: unknown = fields
  for (const [path, target] of Object.entries(references))
    named = replaceAt(named, path, (id) => names.nameOf(target, id))
  return named
}

const readAll = async (
  client: Client,
  projectId: string,
  { kind, list }: ConfigurationResource,
): Promise<Fields[]> => {
  const all: Fields[] = []
  for (let cursor: string | null = null; ; ) {
    const query = { ...(list.query && { limit: 500 }), ...(cursor && { cursor }) }
    const answer = (await send(client, list, { projectId }, { query })).data as Fields
    if (kind === 'settings') return [answer]
    all.push(...((answer.data ?? answer[kind] ?? []) as Fields[]))
    cursor = (answer.nextCursor ?? null) as string | null
    if (cursor === null) break
  }
  // The oldest first; what was created at the same time by its content.
  return all.sort(
    (a, b) =>
      compareText(String(a.createdAt), String(b.createdAt)) || compareText(canonical(a), canonical(b)),
  )
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Calls an operation by its description. @throws ApiError */
export const send = async (
  client: Client,
  { method, path }: Operation,
  parameters: Record<string, string>,
  { query, body, ifMatch }: { query?: Fields; body?: Fields; ifMatch?: string } = {},
): Promise<{ data: unknown; response: Response }> => {
  const init = {
    params: { path: parameters, query, ...(ifMatch && { header: { 'If-Match': ifMatch } }) },
    ...(body && { body }),
  }
  type Answer = { data?: unknown; error?: unknown; response: Response }
  const request = client.raw.request as unknown as (
    method: string,
    path: string,
    init: object,
  ) => Promise<Answer>
  const { data, error, response } = await request(method, path, init)
  if (!response.ok) throw new ApiError(`${method.toUpperCase()} ${path}`, response, error)
  return { data, response }
}

/** The parameter of a path that names one resource. */
export const parametersOf = (
  { path }: Operation,
  projectId: string,
  { id, name }: Pick<StoredItem, 'id' | 'name'>,
): Record<string, string> => ({
  projectId,
  ...(path.includes('{id}') && { id }),
  ...(path.includes('{key}') && { key: name }),
})
