export type { Sample } from './estimate.ts'
export {
  type ExperimentData,
  type ExperimentResults,
  type ExperimentWarning,
  experimentResults,
  MIN_PEOPLE,
} from './experiment-results.ts'
export { type CheckedGuard, checkGuard, type GuardStratum, type GuardVerdict } from './guard.ts'
export type { SplitGroup } from './sample-ratio.ts'
