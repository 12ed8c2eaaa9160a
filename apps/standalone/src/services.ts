import { createCouponService } from '@waymark/coupon-service'
import { createDecisionService } from '@waymark/decision-service'
import { createEmailConsumer, type MailOptions } from '@waymark/email-consumer'
import { createEnrichmentConsumer } from '@waymark/enrichment-consumer'
import { createIngestGateway } from '@waymark/ingest-gateway'
import { createLinkRedirector } from '@waymark/link-redirector'
import { createManagementApi, type ManagementOptions } from '@waymark/management-api'
import { createPersistenceConsumer } from '@waymark/persistence-consumer'
import { combineServices, type Platform, type Service } from '@waymark/service-kit'

/** The options of apps. */
type AllOptions = ManagementOptions & { mail: MailOptions }

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
] as const

/** Every app, on one platform. */
export const createAllServices = (
  platform: Platform,
  { mail, ...management }: AllOptions,
): Required<Service> =>
  combineServices([
    createIngestGateway(platform),
    createEnrichmentConsumer(platform),
    createPersistenceConsumer(platform),
    createManagementApi(platform, management),
    createLinkRedirector(platform),
    createCouponService(platform),
    createDecisionService(platform),
    createEmailConsumer(platform, mail),
  ])
