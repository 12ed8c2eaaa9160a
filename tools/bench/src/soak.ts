import type { Benchmark, Options } from './benchmark.ts'

/** The duration of a round in seconds, for variable work. */
const ROUND_S = 30

/** Loads our side of each benchmark for some minutes, and prints its memory after each round. */
export const soak = async (
  benchmarks: readonly Benchmark[],
  options: Options,
  minutes: number,
  print: (line: string) => void,
): Promise<void> => {
  for (const { name, unit, prepare } of benchmarks) {
    const { ours, baseline, dispose } = await prepare(options)
    try {
      const startedAt = performance.now()
      const seconds = (): number => (performance.now() - startedAt) / 1_000
      while (seconds() < minutes * 60) {
        const { perSecond, cpuMicros, peakRssMb, rssMb } = await ours.run(ROUND_S)
        const rate = `${perSecond.toFixed(0)} ${unit}/s, ${cpuMicros?.toFixed(0)} µs CPU`
        const memory = rssMb === undefined ? '' : `, ${rssMb} MB, at most ${peakRssMb} MB`
        print(`${name} ${seconds().toFixed(0)} s: ${rate}${memory}`)
      }
    } finally {
      await Promise.all([ours.stop(), baseline.stop()])
      await dispose()
    }
  }
}
