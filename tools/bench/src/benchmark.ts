import type { Stored } from './fill-stores.ts'
import type { FilledPostgres } from './filled-postgres.ts'

/** What was measured of one side in one round. `null` where it has no meaning or cannot be told. */
export type Figures = {
  perSecond: number
  /** CPU time of the measured process for each of them, in µs. */
  cpuMicros: number | null
  p99Ms: number | null
  peakRssMb: number | null
  /** Memory at the end, where that can be told. */
  rssMb?: number
}

/** One of the two sides of a benchmark, ready to work. */
export type Contender = {
  /** Works for about so many seconds, or as long as a fixed amount of work takes. */
  run: (seconds: number) => Promise<Figures>
  stop: () => Promise<void>
}

/** How a benchmark is run. */
export type Options = {
  /** Fewer and shorter rounds, for trying. */
  quick: boolean
  /** A folder for profiles of our processes' CPU time. */
  profileTo: string | undefined
  stored: Stored
  /** The server that all benchmarks share, started when it is first asked for. */
  postgres: () => Promise<FilledPostgres>
}

/** The two sides, and what lets go of the servers that both need. */
export type Prepared = { ours: Contender; baseline: Contender; dispose: () => Promise<void> }

/** Ours beside a bare baseline. */
export type Benchmark = {
  name: string
  /** What is counted. */
  unit: string
  /** The least share of the baseline's rate that is good enough. */
  goal: number
  /** What else must hold: at the most so many times the baseline's CPU time or 99th percentile. */
  atMost?: { cpu?: number; p99?: number }
  prepare: (options: Options) => Promise<Prepared>
}
