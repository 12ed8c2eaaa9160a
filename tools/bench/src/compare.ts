import type { Benchmark, Figures, Options, Size } from './benchmark.ts'

/** The result of a benchmark. `ours` and `baseline` are rates per second; all figures are medians of the rounds. */
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
  sizes: Size[]
}

/** Rounds of `seconds` each for variable work, until ours has run for the given seconds and number of rounds. */
type Plan = { seconds: number; warmUp: number; measured: number; rounds: number }

// Short rounds, because other load on the machine lasts for seconds and must affect both sides equally.
const PLAN: Plan = { seconds: 4, warmUp: 30, measured: 60, rounds: 5 }
const QUICK: Plan = { seconds: 2, warmUp: 4, measured: 6, rounds: 2 }

/** Runs both sides alternately, several times after a warm-up. */
export const compare = async (
  { name, unit, goal, atMost, prepare }: Benchmark,
  options: Options,
): Promise<Comparison> => {
  const plan = options.quick ? QUICK : PLAN
  const { ours, baseline, dispose, sizes: measureSizes } = await prepare(options)
  const takeTurns = async (atLeastSeconds: number, atLeastRounds: number) => {
    const [mine, bare]: [Figures[], Figures[]] = [[], []]
    let worked = 0
    while (worked < atLeastSeconds || mine.length < atLeastRounds) {
      const start = performance.now()
      mine.push(await ours.run(plan.seconds))
      worked += (performance.now() - start) / 1_000
      bare.push(await baseline.run(plan.seconds))
    }
    return { mine, bare }
  }
  try {
    await takeTurns(plan.warmUp, 1)
    const { mine, bare } = await takeTurns(plan.measured, plan.rounds)
    const figures = { ours: mediansOf(mine), baseline: mediansOf(bare) }
    const ratios = mine.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? Number.NaN))
    const ratio = median(ratios)
    const sizes = (await measureSizes?.()) ?? []
    return {
      name,
      unit,
      ours: figures.ours.perSecond,
      baseline: figures.baseline.perSecond,
      ratio,
      goal,
      met:
        ratio >= goal &&
        sizes.every(({ bytes, atMost }) => bytes <= atMost) &&
        isAtMost(figures.ours.cpuMicros, figures.baseline.cpuMicros, atMost?.cpu) &&
        isAtMost(figures.ours.p99Ms, figures.baseline.p99Ms, atMost?.p99),
      ratios,
      figures,
      sizes,
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
