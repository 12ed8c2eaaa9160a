export { createDeliveryAudit, DELIVERY_SECONDS } from './audit-deliveries.ts'
export { createDeliverySampler } from './sample-deliveries.ts'
export { deliveryOutcomes, type OutcomeCount, readDeliveries } from './sample-queries.ts'
