export {
  chargeWork,
  currentWork,
  currentWorkEnder,
  failCurrentWork,
  onWorkFailed,
  ownerOfProject,
  requireOngoingWork,
  runAsProcess,
  runAsWork,
  type WorkKind,
  type WorkOwner,
} from './current-work.ts'
export {
  createFairQueue,
  type FairQueue,
  type FairQueueOptions,
  type Lane,
  type Release,
} from './fair-queue.ts'
export { LoopTurns } from './loop-turns.ts'
