import { createCouponService } from '@waymark/coupon-service'
import { createDecisionService, type flagStreamConfig } from '@waymark/decision-service'
import { createEmailConsumer, type MailOptions } from '@waymark/email-consumer'
import { createEnrichmentConsumer } from '@waymark/enrichment-consumer'
import { createIngestGateway } from '@waymark/ingest-gateway'
import { createLinkRedirector } from '@waymark/link-redirector'
import { createManagementApi, type ManagementOptions } from '@waymark/management-api'
import { createPersistenceConsumer } from '@waymark/persistence-consumer'
import {
  type Archive,
  type Config,
  combineServices,
  type Platform,
  type Scope,
  type Service,
} from '@waymark/service-kit'
import { createWebhookDispatcher, type WebhookOptions } from '@waymark/webhook-dispatcher'

/** The options of apps. */
type AllOptions = ManagementOptions & {
  mail: MailOptions
  webhooks: WebhookOptions
  archive?: Archive | undefined
  flagStreams?: Config<typeof flagStreamConfig>
}

/** The apps that run in this process. */
export const APPS = [
  'ingest-gateway',
  'enrichment-consumer',
  'persistence-consumer',
  'management-api',
  'link-redirector',
  'coupon-service',
  'decision-service',
  'email-consumer',
  'webhook-dispatcher',
] as const

/** Every app, on one platform. */
export const createAllServices = (
  platform: Platform,
  { mail, archive, webhooks, flagStreams, ...management }: AllOptions,
  scope: Scope,
): Required<Service> =>
  combineServices([
    createIngestGateway(platform),
    createEnrichmentConsumer(platform),
    createPersistenceConsumer(platform, archive),
    createManagementApi(platform, management),
    createLinkRedirector(platform),
    createCouponService(platform),
    createDecisionService(platform, flagStreams),
    createEmailConsumer(platform, mail),
    createWebhookDispatcher(platform, webhooks, scope),
  ])
