import path from 'node:path'
import type { AddCommands } from '../command.ts'
import { applyChange } from '../configuration/apply.ts'
import { readFiles, writeFiles } from '../configuration/files.ts'
import { keyOf, type Lock, readLock, writeLock } from '../configuration/lock.ts'
import { type Change, describeConflicts, type Plan, planChanges } from '../configuration/plan.ts'
import { type Project, readProject, type StoredItem } from '../configuration/project.ts'
import { type Proposed, proposeChange } from '../configuration/propose.ts'
import { canonical } from '../configuration/values.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { addTypesCommand } from './types.ts'

type DirOptions = { dir: string }
type DiffOptions = DirOptions & { prune?: boolean; exitCode?: boolean }
type ApplyOptions = DirOptions & {
  prune?: boolean
  dryRun?: boolean
  overwrite?: boolean
  propose?: boolean
  comment?: string
}

const DIR = ['--dir <folder>', 'the folder of the files', 'waymark'] as const
const PRUNE = ['--prune', 'also remove what has no file'] as const

/** `waymark pull`, `diff`, `apply` and `types` */
export const addConfigurationCommands: AddCommands = (program, run) => {
  program
    .command('pull')
    .description('write the configuration of a project as YAML, one file for each thing')
    .option(...DIR)
    .action(run(pull))
  program
    .command('diff')
    .description('show what `waymark apply` would change')
    .option(...DIR)
    .option(...PRUNE)
    .option('--exit-code', `end with ${EXIT.negative} when something differs`)
    .action(run(diff))
  program
    .command('apply')
    .description('make a project what the files say')
    .option(...DIR)
    .option(...PRUNE)
    .option('--dry-run', 'change nothing')
    .option('--overwrite', 'also change what others have changed since the last pull or apply')
    .option('--propose', 'propose changes of decisions, for others to approve, and make all other changes')
    .option('--comment <text>', 'why, for those who approve what --propose proposes')
    .action(run(apply))
  addTypesCommand(program, run)
}

const pull = async (context: Context, { dir }: DirOptions): Promise<void> => {
  const { io, out } = context
  const folder = path.resolve(io.cwd, dir)
  const projectId = await context.projectId()
  const project = await readProject(await context.client(), projectId)
  const lock = (await readLock(folder, projectId)) ?? {}
  const known = new Set(Object.values(lock).map(({ file }) => file))
  const { written, files } = await writeFiles(folder, project.items, known, io.env)
  await writeLock(
    folder,
    projectId,
    lockOf(project, (_item, index) => files[index]),
  )
  const lines = written.map(({ file, action }) => `${action.padEnd(8)} ${path.join(dir, file)}`)
  out.result(
    { files: files.length, written },
    [...lines, `${files.length} files in ${dir}, ${written.length} written or removed`].join('\n'),
  )
}

const lockOf = ({ items }: Project, fileOf: (item: StoredItem, index: number) => string | undefined): Lock =>
  Object.fromEntries(
    items.map((item, index) => [
      keyOf(item),
      { id: item.id, hash: item.hash, file: fileOf(item, index) ?? '' },
    ]),
  )

/** What differs, with what is needed to apply it. */
const compare = async (context: Context, dir: string, prune: boolean) => {
  const folder = path.resolve(context.io.cwd, dir)
  const files = await readFiles(folder, context.io.env)
  const [client, projectId] = [await context.client(), await context.projectId()]
  const project = await readProject(client, projectId)
  const lock = await readLock(folder, projectId)
  return { folder, files, client, projectId, project, lock, plan: planChanges(files, project, lock, prune) }
}

const diff = async (context: Context, { dir, prune = false, exitCode }: DiffOptions): Promise<void> => {
  const { plan } = await compare(context, dir, prune)
  context.out.result(shownOf(plan), describe(plan))
  if (exitCode && plan.changes.length > 0) throw new CliError('', EXIT.negative)
}

const apply = async (context: Context, options: ApplyOptions): Promise<void> => {
  const { dir, prune = false, dryRun, overwrite, propose = false, comment } = options
  if (comment !== undefined && !propose)
    throw new CliError('--comment is for those who approve: use it with --propose', EXIT.usage)
  const { folder, files, client, projectId, project, lock, plan } = await compare(context, dir, prune)
  if (!overwrite && plan.changes.some(({ isConflict }) => isConflict))
    throw new CliError(
      `Others have changed the project since the last pull or apply:\n${describeConflicts(plan.changes)}\n` +
        'Run `waymark pull` and look at the difference, or repeat with --overwrite.',
      EXIT.refused,
    )
  if (dryRun) {
    context.out.result(shownOf(plan), describe(plan))
    return
  }
  const fileOf = new Map(files.map((item) => [keyOf(item), item.file]))
  const known: Lock = lock ? { ...lock } : lockOf(project, (item) => fileOf.get(keyOf(item)))
  let done = 0
  const proposals: Proposed[] = []
  try {
    for (const change of plan.changes) {
      if (propose && change.kind === 'decisions') {
        const proposed = await proposeChange(client, projectId, change, project.names, known, comment)
        if (proposed) proposals.push(proposed)
        context.out.note(`${lineOf(change)}${proposed ? `  (proposed: ${proposed.id})` : ''}`)
      } else {
        await applyChange(client, projectId, change, project.names, known)
        context.out.note(lineOf(change))
      }
      done++
    }
  } catch (error) {
    if (done > 0)
      context.out.note(`${done} of ${plan.changes.length} changes were made. Repeat the command to go on.`)
    throw error
  } finally {
    await writeLock(folder, projectId, known)
  }
  const applied = done - proposals.length
  context.out.result(
    { ...shownOf(plan), applied, ...(propose && { proposals }) },
    `${applied} changes applied${propose ? `, ${proposals.length} proposed` : ''}`,
  )
}

const SIGNS = { create: '+', update: '~', remove: '-' } as const
const lineOf = ({ action, kind, name }: Change): string => `${SIGNS[action]} ${kind}/${name}`

const MAX_SHOWN = 100
const show = (value: unknown): string => {
  if (value === undefined) return '(none)'
  const text = canonical(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

const describe = ({ changes, unmanaged }: Plan): string => {
  const lines = changes.flatMap((change) => [
    `${lineOf(change)}${change.isConflict ? '  (changed by others since the last pull or apply)' : ''}`,
    ...(change.action === 'update'
      ? change.changes.map(({ field, from, to }) => `    ${field}: ${show(from)} → ${show(to)}`)
      : []),
  ])
  const removed = new Set(changes.filter(({ action }) => action === 'remove').map(({ stored }) => stored))
  const kept = unmanaged.filter((item) => !removed.has(item))
  const note = kept.length > 0 ? [`${kept.length} without a file stay: ${kept.map(keyOf).join(', ')}`] : []
  return [...(lines.length > 0 ? lines : ['Nothing differs.']), ...note].join('\n')
}

const shownOf = ({ changes, unmanaged }: Plan) => ({
  changes: changes.map(({ action, kind, name, file, changes: fields, isConflict }) => ({
    action,
    kind,
    name,
    file,
    isConflict,
    fields,
  })),
  unmanaged: unmanaged.map(keyOf),
})
