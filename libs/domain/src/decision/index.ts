export {
  affectedEnvironments,
  approvalsFor,
  type DecisionContent,
  isInactiveDraft,
  type NeededApproval,
} from './approvals.ts'
export {
  type Backtest,
  type BacktestEvent,
  type BacktestPerson,
  createBacktestTally,
  type Replayed,
  replayDecision,
  rulesBefore,
} from './backtest.ts'
export { controlOf, decisionProblems } from './check-decision.ts'
export { type Comparison, compareRates, rateOf } from './compare-rates.ts'
export {
  type CompiledDecision,
  compileDecision,
  createDecisionSet,
  type DecisionSet,
  effectiveTime,
  rolloutAt,
} from './compiled-decision.ts'
export {
  type CountRef,
  compileCondition,
  contextIn,
  countsOf,
  type DayCount,
  firstDayOf,
  MAX_COUNT_DAYS,
  missingIn,
  segmentsIn,
  traitsIn,
} from './condition.ts'
export {
  type Choice,
  createDecider,
  isDeciding,
  isPublished,
  type RuleOutcome,
} from './decide.ts'
export { countingIdOf, inEachEnvironment, inEnvironment } from './environment.ts'
export { type LocalFlag, type LocalProblem, localFlagOf } from './local-flag.ts'
export {
  currentStepOf,
  hasPause,
  isGuarded,
  keepStates,
  rampStepsOf,
  resumed,
  stateOf,
  stopsOf,
  withState,
} from './rule-state.ts'
export {
  type CompiledSegment,
  compileSegment,
  createSegmentLookup,
  createSegmentSet,
  eventsCountedBy,
  isInSegment,
  MAX_SEGMENT_BYTES,
  type Segment,
  type SegmentCount,
  type SegmentPerson,
  type SegmentSet,
  segmentProblems,
  type TraitFilter,
} from './segment.ts'
export { STALE_AFTER_MS, type Staleness, stalenessOf } from './stale.ts'
export { type KnownPerson, type Subject, subjectOf, targetingKeyOf } from './subject.ts'
export { type DecisionWarning, reshufflesOf, writeDecision } from './write-decision.ts'
