export type { ClientMessage, MessageEventParts, MessagePersonChange } from './client-message.ts'
export { STRUCTURE_RULE } from './message-parts.ts'
