import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { CliError } from '../exit-codes.ts'
import type { StoredItem } from './project.ts'

/** What a resource was like when it was last pulled or applied: its id, the hash of its fields, and its file. */
type Known = { id: string; hash: string; file: string }
/** The resources of a project as they were last pulled or applied, by `<kind>/<name>`. */
export type Lock = Record<string, Known>

export const keyOf = ({ kind, name }: Pick<StoredItem, 'kind' | 'name'>): string => `${kind}/${name}`

const fileOf = (folder: string, projectId: string): string =>
  path.join(folder, '.waymark', `${projectId}.json`)

/** Reads what is known of a project; undefined when it was never pulled or applied from this folder. */
export const readLock = async (folder: string, projectId: string): Promise<Lock | undefined> => {
  let text: string
  try {
    text = await readFile(fileOf(folder, projectId), 'utf8')
  } catch {
    return undefined
  }
  try {
    return JSON.parse(text) as Lock
  } catch {
    throw new CliError(`${fileOf(folder, projectId)} is not JSON: run \`waymark pull\``)
  }
}

export const writeLock = async (folder: string, projectId: string, lock: Lock): Promise<void> => {
  const file = fileOf(folder, projectId)
  await mkdir(path.dirname(file), { recursive: true })
  const sorted = Object.fromEntries(Object.entries(lock).sort(([a], [b]) => (a < b ? -1 : 1)))
  await writeFile(file, `${JSON.stringify(sorted, null, 2)}\n`)
}
