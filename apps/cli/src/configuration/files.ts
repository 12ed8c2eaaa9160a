import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  type ConfigurationKind,
  type ConfigurationResource,
  configurationFields,
  configurationKinds,
  configurationResources,
} from '@waymark/contracts/configuration'
import { maskedUrl } from '@waymark/contracts/masked-url'
import { parse, stringify } from 'yaml'
import type { Env } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { type Item, nameOf } from './project.ts'
import { compact, type Fields, isObject, schemaOf } from './values.ts'

/** A resource of a file. */
export type FileItem = Item & {
  /** The path below the folder, such as `segments/pro.yaml`. */
  file: string
  /** The fields as written, with references to secrets. */
  written: Fields
  /** Whole secret addresses, which `fields` has as they are read. */
  secrets: Fields
}

const SETTINGS_FILE = 'settings.yaml'
/** A value that stands in the environment: `${env:NAME}`. */
const SECRET = /\$\{env:([A-Za-z_]\w*)\}/g

export const resourceOf = (kind: ConfigurationKind): ConfigurationResource => {
  const found = configurationResources.find((resource) => resource.kind === kind)
  if (!found) throw new Error(`There is no kind ${kind}`)
  return found
}

/** Reads the files of a folder. @throws CliError that names the file */
export const readFiles = async (folder: string, env: Env): Promise<FileItem[]> => {
  const items: FileItem[] = []
  for (const file of await listFiles(folder)) items.push(await readItem(folder, file, env))
  const seen = new Map<string, string>()
  for (const { kind, name, file } of items) {
    const other = seen.get(`${kind}/${name}`)
    if (other) throw new CliError(`${other} and ${file} describe the same: ${name}`)
    seen.set(`${kind}/${name}`, file)
  }
  return items
}

/** The files of a folder that describe resources. @throws CliError when there is no such folder */
const listFiles = async (folder: string): Promise<string[]> => {
  const found = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`Cannot read ${folder}: ${error.message}. Run \`waymark pull\` first.`)
  })
  const files: string[] = []
  for (const entry of found) {
    if (entry.name === SETTINGS_FILE) files.push(entry.name)
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue
    if (!configurationKinds.some((kind) => kind === entry.name))
      throw new CliError(`${entry.name} is no kind of resource: ${configurationKinds.join(', ')}`)
    for (const name of await readdir(path.join(folder, entry.name)))
      if (/\.ya?ml$/.test(name)) files.push(`${entry.name}/${name}`)
  }
  return files.sort()
}

const readItem = async (folder: string, file: string, env: Env): Promise<FileItem> => {
  const kind = (file === SETTINGS_FILE ? 'settings' : file.split('/')[0]) as ConfigurationKind
  const resource = resourceOf(kind)
  let written: unknown
  try {
    written = parse(await readFile(path.join(folder, file), 'utf8'), { maxAliasCount: 0 })
  } catch (error) {
    throw new CliError(`${file} is not YAML: ${error instanceof Error ? error.message : error}`)
  }
  // An empty file of settings is one with all defaults.
  if (written === null && kind === 'settings') written = {}
  if (!isObject(written)) throw new CliError(`${file} must be a mapping of fields`)
  const known = Object.keys(configurationFields(resource))
  const unknown = Object.keys(written).filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new CliError(`${file}: unknown field ${unknown.join(', ')}. Allowed: ${known.join(', ')}`)
  const needed = resource.identity ?? (kind === 'metering-selectors' ? 'eventName' : undefined)
  if (needed !== undefined && typeof written[needed] !== 'string')
    throw new CliError(`${file}: the field ${needed} is missing or no text`)
  const resolved = resolveSecrets(written, file, env) as Fields
  const secrets = Object.fromEntries(
    (resource.secrets ?? []).flatMap((name) => (isAddress(resolved[name]) ? [[name, resolved[name]]] : [])),
  )
  const shown = { ...resolved, ...masked(secrets) }
  const fields = compact(schemaOf(resource), shown, resource.defaults ?? {}) as Fields
  return { kind, name: nameOf(resource, fields), file, fields, written, secrets }
}

const isAddress = (value: unknown): value is string => typeof value === 'string' && URL.canParse(value)

/** Secret addresses as they are read. One that is masked already stays so. */
const masked = (secrets: Fields): Fields =>
  Object.fromEntries(
    Object.entries(secrets).map(([name, url]) => [
      name,
      /\/…#[0-9a-f]+$/.test(`${url}`) ? url : maskedUrl(`${url}`),
    ]),
  )

const resolveSecrets = (value: unknown, file: string, env: Env): unknown => {
  if (typeof value === 'string')
    return value.replaceAll(SECRET, (_all, name: string) => {
      const found = env[name]
      if (found === undefined) throw new CliError(`${file}: the environment has no ${name}`)
      return found
    })
  if (Array.isArray(value)) return value.map((item) => resolveSecrets(item, file, env))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, resolveSecrets(member, file, env)]),
  )
}

/** Whether a text with references to the environment may give a value. A variable that is missing may be anything. */
const mayGive = (written: string, value: string, env: Env): boolean => {
  const parts = written.split(SECRET).map((part, index) => {
    const text = index % 2 === 0 ? part : env[part]
    return text === undefined ? '[^]*' : text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('')}$`).test(value)
}

/** Puts references to the environment back where they still give the value that is stored. */
const keepSecrets = (
  value: unknown,
  written: unknown,
  env: Env,
  secrets: readonly string[] = [],
): unknown => {
  if (typeof value === 'string' && typeof written === 'string' && written.search(SECRET) >= 0) {
    return mayGive(written, value, env) ? written : value
  }
  if (Array.isArray(value) && Array.isArray(written))
    return value.map((item, index) => keepSecrets(item, written[index], env))
  if (!isObject(value) || !isObject(written)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      secrets.includes(name) && mayMask(written[name], member, env)
        ? written[name]
        : keepSecrets(member, written[name], env),
    ]),
  )
}

/** Whether a secret address with references to the environment may be the one that is shown masked. */
const mayMask = (written: unknown, shown: unknown, env: Env): boolean => {
  if (typeof written !== 'string') return false
  const names = [...written.matchAll(SECRET)].map(([, name = '']) => name)
  if (names.some((name) => env[name] === undefined)) return true
  const url = written.replaceAll(SECRET, (_all, name: string) => env[name] ?? '')
  return isAddress(url) && maskedUrl(url) === shown
}

/** What writing files has changed. */
export type Written = { file: string; action: 'added' | 'changed' | 'removed' }

/**
 * Writes one file for each resource. Removes files of resources that are no more, if they are among `known`; others are
 * new ones that were not applied yet.
 * @returns what has changed, and the file of each resource in the same order
 */
export const writeFiles = async (
  folder: string,
  items: readonly Item[],
  known: ReadonlySet<string>,
  env: Env,
): Promise<{ written: Written[]; files: string[] }> => {
  await mkdir(folder, { recursive: true })
  const before = await readRaw(folder)
  const files: string[] = []
  const written: Written[] = []
  for (const item of items) {
    const file = fileOf(item, before, new Set(files.map((one) => one.toLowerCase())), env)
    files.push(file)
    const fields = keepSecrets(item.fields, before.get(file)?.fields, env, resourceOf(item.kind).secrets)
    const text = stringify(fields, { lineWidth: 100, aliasDuplicateObjects: false })
    const old = before.get(file)?.text
    if (old === text) continue
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true })
    await writeFile(path.join(folder, file), text)
    written.push({ file, action: old === undefined ? 'added' : 'changed' })
  }
  for (const file of before.keys())
    if (known.has(file) && !files.includes(file)) {
      await rm(path.join(folder, file))
      written.push({ file, action: 'removed' })
    }
  return { written, files }
}

/** A file with the name in it, which may have references to the environment. */
type RawFile = { text: string; fields: unknown; name: string | undefined }

/** The files that there are, also those that cannot be parsed. */
const readRaw = async (folder: string): Promise<Map<string, RawFile>> => {
  const found = new Map<string, RawFile>()
  for (const file of await listFiles(folder)) {
    const text = await readFile(path.join(folder, file), 'utf8')
    let fields: unknown
    try {
      fields = parse(text, { maxAliasCount: 0 })
    } catch {
      // It is written anew.
    }
    const { identity } = resourceOf(
      (file === SETTINGS_FILE ? 'settings' : file.split('/')[0]) as ConfigurationKind,
    )
    const name = identity !== undefined && isObject(fields) ? String(fields[identity]) : undefined
    found.set(file, { text, fields, name })
  }
  return found
}

/** The file of a resource: the one that describes it already, or one named after it. */
const fileOf = (
  { kind, name }: Item,
  before: ReadonlyMap<string, RawFile>,
  taken: ReadonlySet<string>,
  env: Env,
): string => {
  if (kind === 'settings') return SETTINGS_FILE
  const describes = (written: string | undefined) => written !== undefined && mayGive(written, name, env)
  for (const [file, raw] of before)
    if (describes(raw.name) && file.startsWith(`${kind}/`) && !taken.has(file.toLowerCase())) return file
  const base = name
    .replace(/^https?:\/\//, '')
    .replaceAll(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replaceAll(/^[-.]+|-+$/g, '')
    .slice(0, 80)
  for (let count = 1; ; count++) {
    const file = `${kind}/${base || 'unnamed'}${count === 1 ? '' : `-${count}`}.yaml`
    const other = before.get(file)
    if (!taken.has(file.toLowerCase()) && (other === undefined || kind === 'metering-selectors')) return file
  }
}
