export { readSegmentMessage, type SegmentCall, segmentCalls, segmentProblem } from './read-message.ts'
