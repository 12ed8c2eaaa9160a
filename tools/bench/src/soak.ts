import type { Benchmark, Options } from './benchmark.ts'

const SAMPLE_S = 30

/** Loads ours of each benchmark for some minutes, and prints how much memory it takes as time goes on. */
export const soak = async (
  benchmarks: readonly Benchmark[],
  options: Options,
  minutes: number,
  print: (line: string) => void,
): Promise<void> => {
  for (const { name, unit, prepare } of benchmarks) {
    const { ours, baseline, dispose } = await prepare(options)
    try {
      for (let second = SAMPLE_S; second <= minutes * 60; second += SAMPLE_S) {
        const { perSecond, cpuMicros, peakRssMb, rssMb } = await ours.run(SAMPLE_S)
        const memory = rssMb === undefined ? '' : `, ${rssMb} MB, at most ${peakRssMb} MB`
        print(
          `${name} ${second} s: ${perSecond.toFixed(0)} ${unit}/s, ${cpuMicros?.toFixed(0)} µs CPU${memory}`,
        )
      }
    } finally {
      await Promise.all([ours.stop(), baseline.stop()])
      await dispose()
    }
  }
}
