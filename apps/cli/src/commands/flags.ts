import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { findReferences } from '../code-references.ts'
import type { AddCommands } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError } from '../exit-codes.ts'

const PRODUCTION = 'production'
const PATH = '/api/projects/{projectId}/decisions/{key}'
type EnvironmentOptions = { env: string }
type BacktestOptions = EnvironmentOptions & { days: string; event?: string; change?: string }
type RefsOptions = { repository?: string; commit?: string; dryRun?: boolean }

/** `waymark flags list`, `get`, `backtest`, `refs`, `on` and `off` */
export const addFlagCommands: AddCommands = (program, run) => {
  const flags = program.command('flags').description('list decisions, and turn them on and off')
  flags
    .command('list')
    .description('list the decisions that are not archived')
    .option('--env <environment>', 'whose status to show', PRODUCTION)
    .action(run(list))
  flags
    .command('get')
    .description('show a decision')
    .argument('<key>', 'the key of the decision')
    .action(
      run(async (context, key: string) => {
        const client = await context.client()
        const params = { path: { projectId: await context.projectId(), key } }
        const decision = await client.get(PATH, { params })
        context.out.result(decision, JSON.stringify(decision, null, 2))
      }),
    )
  flags
    .command('backtest')
    .description('replay a decision on stored events: who would have got what')
    .argument('<key>', 'the key of the decision')
    .option('--days <days>', 'how many days of events, 1 to 90', '7')
    .option('--event <name>', 'decide at each event with this name; default: at every event')
    .option('--env <environment>', 'whose rules to replay', PRODUCTION)
    .option('--change <file>', 'a JSON file with fields in place of those of the stored decision')
    .action(run(backtest))
  flags
    .command('refs')
    .description('find where code refers to decisions, and report it')
    .argument('[folder]', 'the folder of the code, which Git or ripgrep searches', '.')
    .option('--repository <name>', 'what the code is called; the name of the folder unless given')
    .option('--commit <id>', 'the commit that is searched')
    .option('--dry-run', 'report nothing')
    .action(run(refs))
  for (const [name, verb, description] of [
    ['on', 'activate', 'apply the rules of a decision'],
    ['off', 'pause', 'give everybody the fallback variant'],
  ] as const)
    flags
      .command(name)
      .description(description)
      .argument('<key>', 'the key of the decision')
      .option('--env <environment>', 'where', PRODUCTION)
      .action(
        run(async (context, key: string, { env }: EnvironmentOptions) => {
          const client = await context.client()
          const path = { projectId: await context.projectId(), key }
          const decision = await client.post(`${PATH}/${verb}`, {
            params: { path, query: { environment: env } },
          })
          context.out.result(decision, `${key} is ${name} in ${env} (version ${decision.version})`)
        }),
      )
}

const backtest = async (
  context: Context,
  key: string,
  { days, event, env, change }: BacktestOptions,
): Promise<void> => {
  const definition = change === undefined ? undefined : await readObject(path.resolve(context.io.cwd, change))
  const client = await context.client()
  const params = { path: { projectId: await context.projectId(), key } }
  const replayed = await client.post(`${PATH}/backtest`, {
    params,
    body: {
      days: Number(days),
      environment: env,
      ...(event !== undefined && { eventName: event }),
      ...(definition && { definition }),
    },
  })
  const rows = replayed.variants.map(({ variant, people, evaluations }) => ({ variant, people, evaluations }))
  context.out.table(replayed, rows, ['variant', 'people', 'evaluations'])
  const { people, sampled, capped } = replayed
  context.out.note(
    `${sampled ? `A sample of ${replayed.replayed} of ` : ''}${people} people; ${capped.people} over the frequency cap.`,
  )
  for (const { message } of replayed.unknown) context.out.note(`Not known: ${message}`)
}

/** Reads an object from a file. @throws CliError */
const readObject = async (file: string): Promise<object> => {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CliError(`Cannot read ${file}: ${error.message}`)
  })
  const value: unknown = parseJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new CliError(`${file} has no JSON object`)
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const refs = async (context: Context, folder: string, options: RefsOptions): Promise<void> => {
  const root = path.resolve(context.io.cwd, folder)
  const client = await context.client()
  const projectId = await context.projectId()
  const params = { path: { projectId } }
  const decisions = await Array.fromAsync(client.list('/api/projects/{projectId}/decisions', { params }))
  const keys = decisions.filter(({ status }) => status !== 'archived').map(({ key }) => key)
  const references = await findReferences(root, keys)
  const { repository = path.basename(root), commit, dryRun } = options
  if (!dryRun)
    await client.put('/api/projects/{projectId}/code-references', {
      params,
      body: { repository, references, ...(commit && { commit }) },
    })
  const used = new Set(references.map(({ decision }) => decision))
  const unused = keys.filter((key) => !used.has(key))
  const lines = references.map(({ decision, file, line }) => `${file}:${line}  ${decision}`)
  context.out.result(
    { repository, references, unused },
    [...lines, `${references.length} references. Without any: ${unused.join(', ') || 'none'}`].join('\n'),
  )
}

type Decision = {
  key: string
  name?: string | null
  status: string
  version: number
  fallbackVariant: string
  environments?: Record<string, { status?: string } | null> | null
}

const statusIn = ({ status, environments }: Decision, environment: string): string =>
  environment === PRODUCTION ? status : (environments?.[environment]?.status ?? 'off')

const list = async (context: Context, { env }: EnvironmentOptions): Promise<void> => {
  const client = await context.client()
  const params = { path: { projectId: await context.projectId() } }
  const decisions = await Array.fromAsync(client.list('/api/projects/{projectId}/decisions', { params }))
  const shown = decisions.filter(({ status }) => status !== 'archived')
  const rows = shown.map((one) => ({
    key: one.key,
    status: statusIn(one, env),
    name: one.name,
    variants: one.variants.map(({ key }) => key).join(' '),
    version: one.version,
    updatedAt: one.updatedAt,
  }))
  context.out.table(shown, rows, ['key', 'status', 'name', 'variants', 'version', 'updatedAt'])
}
