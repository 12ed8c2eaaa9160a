import type { Stored } from './fill-stores.ts'
import type { FilledPostgres } from './filled-postgres.ts'

/** The measurements of one side in one round. `null` where a figure does not apply or cannot be measured. */
export type Figures = {
  perSecond: number
  /** CPU time of the measured process per unit, in µs. */
  cpuMicros: number | null
  p99Ms: number | null
  peakRssMb: number | null
  /** Memory at the end, if it can be measured. */
  rssMb?: number
}

/** One of the two sides of a benchmark, ready to run. */
export type Contender = {
  /** Runs for about this many seconds, or for a fixed amount of work. */
  run: (seconds: number) => Promise<Figures>
  stop: () => Promise<void>
}

/** How a benchmark is run. */
export type Options = {
  /** Fewer and shorter rounds, for a quick check. */
  quick: boolean
  /** A folder for CPU profiles of our processes. */
  profileTo: string | undefined
  stored: Stored
  /** The server that all benchmarks share, started on first use. */
  postgres: () => Promise<FilledPostgres>
}

/** What a unit of ours takes on disk, in bytes, and what it may take. */
export type Size = { name: string; bytes: number; atMost: number }

/** The two sides, what ours takes on disk after the rounds, and the function that stops their servers. */
export type Prepared = {
  ours: Contender
  baseline: Contender
  sizes?: () => Promise<Size[]>
  dispose: () => Promise<void>
}

/** A benchmark of our code against a minimal baseline. */
export type Benchmark = {
  name: string
  /** The unit that is counted. */
  unit: string
  /** The lowest acceptable rate as a share of the baseline's. */
  goal: number
  /** Other limits: the highest multiple of the baseline's CPU time or 99th percentile. */
  atMost?: { cpu?: number; p99?: number }
  prepare: (options: Options) => Promise<Prepared>
}
