import type { AddCommands } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit-codes.ts'

const COLLECTION = '/api/projects/{projectId}/alerts'
const ONE = `${COLLECTION}/{id}` as const
type HistoryOptions = { changes?: boolean; limit: string }

/** `waymark alerts list`, `history`, `mute` and `unmute` */
export const addAlertCommands: AddCommands = (program, run) => {
  const alerts = program.command('alerts').description('list alerts, and mute them')
  alerts.command('list').description('list the alerts with what they found last').action(run(list))
  alerts
    .command('history')
    .description('list the evaluations of an alert, the newest first')
    .argument('<alert>', 'its id or name')
    .option('--changes', 'only those in which it began or ended to fire')
    .option('--limit <count>', 'how many at most', '50')
    .action(run(history))
  alerts
    .command('mute')
    .description('send no messages about an alert until a time')
    .argument('<alert>', 'its id or name')
    .requiredOption('--until <time>', 'when it ends, in RFC 3339')
    .action(
      run(async (context, alert: string, { until }: { until: string }) => {
        const client = await context.client()
        const path = await pathOf(context, alert)
        const muted = await client.post(`${ONE}/mute`, { params: { path }, body: { until } })
        context.out.result(muted, `${muted.name} is muted until ${muted.mutedUntil}`)
      }),
    )
  alerts
    .command('unmute')
    .description('send messages about an alert again')
    .argument('<alert>', 'its id or name')
    .action(
      run(async (context, alert: string) => {
        const client = await context.client()
        const unmuted = await client.post(`${ONE}/unmute`, { params: { path: await pathOf(context, alert) } })
        context.out.result(unmuted, `${unmuted.name} is not muted any more`)
      }),
    )
}

const readAll = async (context: Context) => {
  const client = await context.client()
  const params = { path: { projectId: await context.projectId() } }
  return Array.fromAsync(client.list(COLLECTION, { params }))
}

const list = async (context: Context): Promise<void> => {
  const found = await readAll(context)
  const rows = found.map(({ id, name, state, value, firingSince, mutedUntil }) => ({
    id,
    name,
    state,
    value,
    firingSince,
    mutedUntil,
  }))
  context.out.table(found, rows, ['id', 'name', 'state', 'value', 'firingSince', 'mutedUntil'])
}

const history = async (
  context: Context,
  alert: string,
  { changes, limit }: HistoryOptions,
): Promise<void> => {
  const client = await context.client()
  const path = await pathOf(context, alert)
  const { data } = await client.get(`${ONE}/history`, {
    params: { path, query: { limit: Number(limit), ...(changes && { changes }) } },
  })
  const rows = data.map(({ bucket, state, change, value, expected, deviation }) => ({
    bucket,
    state,
    change,
    value,
    expected,
    deviation,
  }))
  context.out.table(data, rows, ['bucket', 'state', 'change', 'value', 'expected', 'deviation'])
}

/** The parameters of an alert that is named by its id or name. @throws CliError when there is none, or several */
const pathOf = async (context: Context, alert: string): Promise<{ projectId: string; id: string }> => {
  const found = (await readAll(context)).filter(({ id, name }) => id === alert || name === alert)
  const [one, ...others] = found
  if (one === undefined)
    throw new CliError(`There is no alert ${alert}. See \`waymark alerts list\`.`, EXIT.notFound)
  if (others.length > 0) throw new CliError(`${found.length} alerts are called ${alert}. Use the id of one.`)
  return { projectId: await context.projectId(), id: one.id }
}
