export {
  alertMessage,
  auditMessage,
  type CompiledWebhook,
  cardMovementMessage,
  compileWebhook,
  decisionMessage,
  emailMessage,
  eventMessages,
  isFor,
  linkClickMessage,
  redemptionMessage,
  type StoredWebhook,
  type WebhookMessage,
} from './message.ts'
export { isPublicAddress } from './public-address.ts'
export { generateWebhookSecret } from './secret.ts'
