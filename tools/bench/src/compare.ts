import autocannon from 'autocannon'
import type { Benchmark, Side } from './benchmark.ts'
import { type Measured, startMeasured } from './measured-process.ts'

/** Medians over the rounds. CPU time is the server's, per request, in µs. */
export type Figures = { perSecond: number; cpuMicros: number; p99Ms: number; peakRssMb: number }
export type Comparison = {
  name: string
  ours: Figures
  baseline: Figures
  ratio: number
  ratios: number[]
  goal: number
  met: boolean
}

const CONNECTIONS = 64

/** Runs both sides in turn, `rounds` times `seconds` each after a warm-up, on one core, with the load from another. */
export const compare = async (
  { name, goal, prepare }: Benchmark,
  { rounds, seconds, profileTo }: { rounds: number; seconds: number; profileTo?: string | undefined },
): Promise<Comparison> => {
  const { ours, baseline, dispose } = await prepare()
  const sides = [await startMeasured(ours, { profileTo }), await startMeasured(baseline)] as const
  try {
    const rows: [Figures, Figures][] = []
    await measure(sides[0], ours, seconds)
    await measure(sides[1], baseline, seconds)
    for (let round = 0; round < rounds; round++) {
      rows.push([await measure(sides[0], ours, seconds), await measure(sides[1], baseline, seconds)])
    }
    const ratios = rows.map(([mine, bare]) => mine.perSecond / bare.perSecond)
    const ratio = median(ratios)
    return {
      name,
      ours: medians(rows.map(([mine]) => mine)),
      baseline: medians(rows.map(([, bare]) => bare)),
      ratio,
      ratios,
      goal,
      met: ratio >= goal,
    }
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
    await dispose()
  }
}

const measure = async (
  server: Measured,
  { path, headers, body }: Side,
  seconds: number,
): Promise<Figures> => {
  const before = await server.usage()
  const result = await autocannon({
    url: `http://localhost:${server.port}${typeof path === 'string' ? path : ''}`,
    ...(body === undefined
      ? { method: 'GET', headers }
      : { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }),
    ...(typeof body === 'string' && { body }),
    ...(Array.isArray(body) && { requests: body.map((one) => ({ body: one })) }),
    ...(typeof path === 'function' && {
      requests: [{ setupRequest: (request) => ({ ...request, path: path() }) }],
    }),
    connections: CONNECTIONS,
    duration: seconds,
  })
  const after = await server.usage()
  const refused = result['4xx'] + result['5xx']
  if (refused > 0 || result.errors > 0) {
    throw new Error(`${refused} answers were errors and ${result.errors} requests failed`)
  }
  const requests = result['2xx'] + result['3xx']
  return {
    perSecond: requests / result.duration,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
    p99Ms: result.latency.p99,
    peakRssMb: after.peakRssMb,
  }
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

const medians = (rows: readonly Figures[]): Figures => ({
  perSecond: median(rows.map(({ perSecond }) => perSecond)),
  cpuMicros: median(rows.map(({ cpuMicros }) => cpuMicros)),
  p99Ms: median(rows.map(({ p99Ms }) => p99Ms)),
  peakRssMb: median(rows.map(({ peakRssMb }) => peakRssMb)),
})
