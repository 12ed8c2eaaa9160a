export {
  type AboutPeople,
  aboutAnything,
  aboutDeadLetter,
  aboutEvent,
  aboutExposure,
  aboutIdentify,
  aboutRecord,
  erasureHash,
  findErased,
  joinErasure,
  lockOutRecords,
  withoutErased,
} from './erasure-queries.ts'
