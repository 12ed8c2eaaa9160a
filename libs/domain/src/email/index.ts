export {
  comparableAddress,
  emailAddressIn,
  parseMailbox,
  spellingsOf,
} from './address.ts'
export {
  compileMessage,
  type MessageContext,
  type MessageTemplates,
  type RenderedMessage,
  TemplateError,
} from './message-template.ts'
export {
  addressOf,
  type Firing,
  isFiredBy,
  type ReplayedStatus,
  replayDeliveries,
} from './replay-trigger.ts'
export { DEFAULT_RETRY_PLAN, nextAttemptIn, type RetryPlan } from './retry.ts'
export { parseSender, type Sender, sendersOf } from './sender.ts'
export { type CompiledTrigger, compileTrigger, triggersFiredBy } from './trigger.ts'
export { deliveryOfToken, unsubscribeToken } from './unsubscribe-token.ts'
