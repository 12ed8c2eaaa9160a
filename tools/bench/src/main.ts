import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { type Comparison, compare } from './compare.ts'
import { decideBenchmark } from './decide.ts'
import { redirectBenchmarks } from './redirect.ts'
import { trackBenchmarks } from './track.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    profile: { type: 'string' },
  },
})

const benchmarks = [...trackBenchmarks, decideBenchmark, ...redirectBenchmarks]
const chosen = benchmarks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
if (chosen.length === 0) {
  process.stderr.write(`Choose from: ${benchmarks.map(({ name }) => name).join(', ')}\n`)
  process.exitCode = 2
}

const results: Comparison[] = []
for (const benchmark of chosen) {
  const result = await compare(benchmark, {
    ...(values.quick ? { rounds: 2, seconds: 3 } : { rounds: 5, seconds: 10 }),
    profileTo: values.profile,
  })
  results.push(result)
  const { name, ours, baseline, ratio, ratios, goal, met } = result
  process.stdout.write(`${name}\n`)
  for (const [who, figures] of Object.entries({ ours, baseline })) {
    const { perSecond, cpuMicros, peakRssMb, p99Ms } = figures
    process.stdout.write(
      `  ${who.padEnd(9)} ${perSecond.toFixed(0)} req/s  ${cpuMicros.toFixed(0)} µs CPU/req  p99 ${p99Ms} ms  peak ${peakRssMb} MB\n`,
    )
  }
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((value) => value.toFixed(2))
  process.stdout.write(
    `  ratio     ${ratio.toFixed(2)} (${least}–${most}), goal ${goal}: ${met ? 'met' : 'not met'}\n`,
  )
}

if (values.out !== undefined) await writeFile(values.out, `${JSON.stringify(results, null, 2)}\n`)
