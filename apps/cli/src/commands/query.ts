import { type AddCommands, collect } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import type { Row } from '../output.ts'

type RangeOptions = { from: string; to?: string }
type TrendsOptions = RangeOptions & {
  event: string[]
  metric: Metric
  property?: string
  interval: 'hour' | 'day' | 'week' | 'month'
  by?: string
  timeZone?: string
}
type FunnelOptions = RangeOptions & { window: string; by?: string }
type Metric = 'events' | 'people' | 'sessions' | 'conversions' | 'revenue' | 'sum' | 'avg' | 'min' | 'max'

const DAY_MS = 24 * 60 * 60 * 1_000
const UNITS_MS: Record<string, number> = { m: 60_000, h: 60 * 60_000, d: DAY_MS, w: 7 * DAY_MS }

/** `waymark query trends` and `waymark query funnel` */
export const addQueryCommands: AddCommands = (program, run) => {
  const query = program.command('query').description('ask analytics, as a table, CSV or JSON')
  query
    .command('trends')
    .description('measure events over time')
    .option('--event <name>', 'events of this name; repeat it for several series', collect, [])
    .option(
      '--metric <metric>',
      'events, people, sessions, conversions, revenue, sum, avg, min or max',
      'events',
    )
    .option('--property <name>', 'the number for sum, avg, min and max, such as properties.total')
    .option('--interval <interval>', 'hour, day, week or month', 'day')
    .option('--by <property>', 'a series for each value of a property')
    .option('--from <time>', 'a time, or how long ago: 30d, 12h', '30d')
    .option('--to <time>', 'a time; now unless given')
    .option('--time-zone <zone>', 'where days begin, such as Europe/Berlin; UTC unless given')
    .action(run(trends))
  query
    .command('funnel')
    .description('count the people who take one step after another')
    .argument('<events...>', 'the names of the events, in order')
    .option('--window <time>', 'how long a person has after the first step: 7d, 12h', '7d')
    .option('--by <property>', 'a funnel for each value of a property')
    .option('--from <time>', 'a time, or how long ago: 30d, 12h', '30d')
    .option('--to <time>', 'a time; now unless given')
    .action(run(funnel))
}

const trends = async (context: Context, options: TrendsOptions): Promise<void> => {
  const { event, metric, property, interval, by, timeZone } = options
  const names: (string | undefined)[] = event.length > 0 ? event : [undefined]
  const result = await (await context.client()).post('/api/projects/{projectId}/analytics/trends', {
    params: { path: { projectId: await context.projectId() } },
    body: {
      series: names.map((eventName) => ({
        metric,
        ...(eventName && { eventName }),
        ...(property && { property }),
      })),
      ...rangeOf(options),
      interval,
      ...(by && { breakdown: by }),
      ...(timeZone && { timeZone }),
    },
  })
  const labelled = result.series.map(({ eventName, group, other, currency, values }) => {
    const grouped = other ? '(other)' : (group ?? (by ? '(none)' : undefined))
    const label = [eventName ?? metric, grouped, currency].filter(Boolean).join(' ')
    return { label, values }
  })
  const rows = result.buckets.map(
    (at, index): Row => ({
      at,
      ...Object.fromEntries(labelled.map(({ label, values }) => [label, values[index] ?? 0])),
    }),
  )
  context.out.table(result, rows, ['at', ...new Set(labelled.map(({ label }) => label))])
}

const funnel = async (context: Context, events: string[], options: FunnelOptions): Promise<void> => {
  if (events.length < 2) throw new CliError('A funnel has at least two events')
  const result = await (await context.client()).post('/api/projects/{projectId}/analytics/funnel', {
    params: { path: { projectId: await context.projectId() } },
    body: {
      steps: events.map((eventName) => ({ eventName })),
      ...rangeOf(options),
      windowSeconds: durationMs(options.window, '--window') / 1_000,
      ...(options.by && { breakdown: options.by }),
    },
  })
  const groups: { steps: typeof result.steps; group?: string | null; other?: boolean }[] = result.groups ?? [
    result,
  ]
  const rows = groups.flatMap(({ steps, group, other }) =>
    steps.map(
      (step, index): Row => ({
        ...(options.by && { group: other ? '(other)' : (group ?? '(none)') }),
        step: index + 1,
        event: step.eventName,
        people: step.people,
        ofFirst: step.rateFromFirst,
        ofPrevious: step.rateFromPrevious,
        medianSeconds: step.medianSecondsFromPrevious,
      }),
    ),
  )
  const columns = ['step', 'event', 'people', 'ofFirst', 'ofPrevious', 'medianSeconds']
  context.out.table(result, rows, options.by ? ['group', ...columns] : columns)
}

const rangeOf = ({ from, to }: RangeOptions): { from: string; to: string } => {
  const end = to === undefined ? Date.now() : timeOf(to, '--to')
  const start = /^\d+[a-z]$/.test(from) ? end - durationMs(from, '--from') : timeOf(from, '--from')
  return { from: new Date(start).toISOString(), to: new Date(end).toISOString() }
}

const timeOf = (text: string, option: string): number => {
  const time = Date.parse(text)
  if (Number.isNaN(time))
    throw new CliError(`${option} must be a time such as 2026-05-01T00:00:00Z, not ${text}`)
  return time
}

const durationMs = (text: string, option: string): number => {
  const [, count, unit = ''] = /^(\d+)([a-z])$/.exec(text) ?? []
  const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN)
  if (!(ms > 0)) throw new CliError(`${option} must be a number with m, h, d or w, such as 30d, not ${text}`)
  return ms
}
