export type { Sample } from './estimate.ts'
export {
  type ExperimentData,
  type ExperimentResults,
  type ExperimentWarning,
  experimentResults,
} from './experiment-results.ts'
export type { SplitGroup } from './sample-ratio.ts'
