import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { measureAnalytics } from './analytics.ts'
import type { Options } from './benchmark.ts'
import { type Comparison, compare } from './compare.ts'
import { availableCores, pinLoad } from './cores.ts'
import { generationBenchmark, qualifyBenchmark, redeemBenchmark } from './coupons.ts'
import { decideBenchmark } from './decide.ts'
import { measureDecideRate } from './decide-rate.ts'
import { type FilledPostgres, startFilledPostgres } from './filled-postgres.ts'
import { measureFlagStreams } from './flag-streams.ts'
import { measureIdle } from './idle.ts'
import { kafkaClientBenchmarks } from './kafka-clients.ts'
import { measureLocalEvaluations } from './local-evaluations.ts'
import { pipelineBenchmark } from './pipeline.ts'
import { refusalOfNode } from './product-node.ts'
import { redirectBenchmark } from './redirect.ts'
import { ruleBenchmark } from './rules.ts'
import { soak } from './soak.ts'
import { machine, sizesLine, tableHead, tableRow } from './table.ts'
import { trackBenchmarks } from './track.ts'

const benchmarks = [
  ...trackBenchmarks,
  pipelineBenchmark,
  redirectBenchmark,
  decideBenchmark,
  ruleBenchmark,
  redeemBenchmark,
  qualifyBenchmark,
  generationBenchmark,
  ...kafkaClientBenchmarks,
]

const HELP = `npm run bench -- [name…] [options]

  --quick          some seconds instead of a minute of work, for trying
  --out FILE       writes the results as JSON
  --events N       events that the database has before (0)
  --keys N         API keys that it has before (10000)
  --links N        links that it has before (100000)
  --profile DIR    leaves CPU profiles of our processes there
  --soak MINUTES   loads ours for so long, and reports its memory
  --analytics N    fills both event stores with N events (1000000) and times our queries beside bare ones
  --store NAME     only this one of the event stores: duckdb or clickhouse
  --streams N      opens N streams of changed flags (10000), changes a flag, and reports memory and times
  --rate N         sends N evaluations a second (1000) from one address, while the decision is edited
  --local          evaluates a decision by flagd's provider in this process, and reports the rate
  --idle           starts each service, and reports its CPU and memory without requests

names: ${benchmarks.map(({ name }) => name).join(', ')}
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    events: { type: 'string', default: '0' },
    keys: { type: 'string', default: '10000' },
    links: { type: 'string', default: '100000' },
    profile: { type: 'string' },
    soak: { type: 'string' },
    analytics: { type: 'string' },
    store: { type: 'string' },
    streams: { type: 'string' },
    rate: { type: 'string' },
    local: { type: 'boolean', default: false },
    idle: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const stored = { events: Number(values.events), keys: Number(values.keys), links: Number(values.links) }
const unknown = positionals.filter((name) => !benchmarks.some((benchmark) => benchmark.name === name))
const chosen = benchmarks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const refusal = refusalOfNode()
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const compareAll = async (options: Options): Promise<void> => {
  const results: Comparison[] = []
  for (const [index, benchmark] of chosen.entries()) {
    const result = await compare(benchmark, options)
    results.push(result)
    if (index === 0) print(tableHead)
    print(tableRow(result))
    if (values.out !== undefined) await writeFile(values.out, `${JSON.stringify(results, null, 2)}\n`)
  }
  const sizes = results.flatMap((result) => sizesLine(result) ?? [])
  if (sizes.length > 0) print(`\n${sizes.join('\n')}`)
}

if (values.help || unknown.length > 0) {
  process.stderr.write(unknown.length > 0 ? `There is no ${unknown.join(', ')}.\n\n${HELP}` : HELP)
  process.exitCode = values.help ? 0 : 2
} else if (refusal !== undefined) {
  process.stderr.write(refusal)
  process.exitCode = 2
} else if (availableCores() < 2) {
  process.stderr.write('Server and load need a core each.\n')
  process.exitCode = 2
} else {
  // DuckDB runs in this process, on all cores.
  if (values.analytics === undefined) pinLoad()
  print(machine())
  let filled: Promise<FilledPostgres> | undefined
  const postgres = (): Promise<FilledPostgres> => {
    filled ??= startFilledPostgres(stored)
    return filled
  }
  const options: Options = { quick: values.quick, profileTo: values.profile, stored, postgres }
  try {
    if (values.analytics !== undefined)
      await measureAnalytics(
        Number(values.analytics || 1_000_000),
        values.quick ? 3 : 20,
        print,
        values.store,
      )
    else if (values.streams !== undefined)
      await measureFlagStreams(options, Number(values.streams || 10_000), print)
    else if (values.rate !== undefined) await measureDecideRate(options, Number(values.rate || 1_000), print)
    else if (values.local) await measureLocalEvaluations(print, values.quick)
    else if (values.idle) await measureIdle(options, print)
    else if (values.soak !== undefined) await soak(chosen, options, Number(values.soak), print)
    else await compareAll(options)
  } finally {
    await (await filled)?.stop()
  }
}
