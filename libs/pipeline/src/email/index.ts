export { createAllowedSenders, type IsAllowedSender } from './sender-queries.ts'
