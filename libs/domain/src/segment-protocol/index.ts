export {
  readSegmentMessage,
  type SegmentCall,
  type SegmentEvent,
  type SegmentMessage,
  type SegmentPersonChange,
  STRUCTURE_RULE,
  segmentCalls,
  segmentProblem,
} from './read-message.ts'
