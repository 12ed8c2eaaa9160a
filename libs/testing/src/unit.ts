// What unit tests use: it needs neither servers nor processes, and loads quickly.
export { anyAnswers } from './any-answers.ts'
export { anEnrichedEvent, anIngestRecord } from './builders.ts'
export { eventually } from './eventually.ts'
export { freePort } from './free-port.ts'
export { createMemoryLog } from './memory-log.ts'
export { placesFile } from './places.ts'
export { startRawServer } from './raw-server.ts'
