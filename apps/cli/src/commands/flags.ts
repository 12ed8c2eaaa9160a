import type { AddCommands } from '../command.ts'
import type { Context } from '../context.ts'

const PRODUCTION = 'production'
const PATH = '/api/projects/{projectId}/decisions/{key}'
type EnvironmentOptions = { env: string }

/** `waymark flags list`, `get`, `on` and `off` */
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
