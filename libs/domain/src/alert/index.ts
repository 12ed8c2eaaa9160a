export { type AlertReading, type AlertVerdict, judgeAlert } from './judge.ts'
export { type AlertMessage, alertSubject, alertText, slackMessage } from './message.ts'
export { createSlotOf, type SeriesPoint } from './unusual.ts'
