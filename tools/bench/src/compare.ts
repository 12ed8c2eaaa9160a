import type { Benchmark, Figures, Options } from './benchmark.ts'

/** What came of a benchmark. `ours` and `baseline` are rates per second, medians of the rounds like all figures. */
export type Comparison = {
  name: string
  unit: string
  ours: number
  baseline: number
  ratio: number
  goal: number
  met: boolean
  ratios: number[]
  figures: { ours: Figures; baseline: Figures }
}

// Not only ours has to compile its code first: so does Kafka, which takes half a minute of load, and much of both cores.
const WARM_UP_ROUNDS = 4

/** Runs both sides in turn, several times after a warm-up. */
export const compare = async (
  { name, unit, goal, atMost, prepare }: Benchmark,
  options: Options,
): Promise<Comparison> => {
  const { rounds, seconds } = options.quick ? { rounds: 2, seconds: 3 } : { rounds: 5, seconds: 10 }
  const { ours, baseline, dispose } = await prepare(options)
  try {
    for (let round = 0; round < WARM_UP_ROUNDS; round++) {
      await ours.run(seconds)
      await baseline.run(seconds)
    }
    const mine: Figures[] = []
    const bare: Figures[] = []
    for (let round = 0; round < rounds; round++) {
      mine.push(await ours.run(seconds))
      bare.push(await baseline.run(seconds))
    }
    const figures = { ours: mediansOf(mine), baseline: mediansOf(bare) }
    const ratios = mine.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? Number.NaN))
    const ratio = median(ratios)
    return {
      name,
      unit,
      ours: figures.ours.perSecond,
      baseline: figures.baseline.perSecond,
      ratio,
      goal,
      met:
        ratio >= goal &&
        isAtMost(figures.ours.cpuMicros, figures.baseline.cpuMicros, atMost?.cpu) &&
        isAtMost(figures.ours.p99Ms, figures.baseline.p99Ms, atMost?.p99),
      ratios,
      figures,
    }
  } finally {
    await Promise.all([ours.stop(), baseline.stop()])
    await dispose()
  }
}

const isAtMost = (mine: number | null, bare: number | null, times: number | undefined): boolean =>
  times === undefined || mine === null || bare === null || mine <= times * bare

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

const mediansOf = (rows: readonly Figures[]): Figures => {
  const of = (read: (figures: Figures) => number | null): number | null => {
    const values = rows.map(read).filter((value) => value !== null)
    return values.length === 0 ? null : median(values)
  }
  return {
    perSecond: of(({ perSecond }) => perSecond) ?? Number.NaN,
    cpuMicros: of(({ cpuMicros }) => cpuMicros),
    p99Ms: of(({ p99Ms }) => p99Ms),
    peakRssMb: of(({ peakRssMb }) => peakRssMb),
  }
}
