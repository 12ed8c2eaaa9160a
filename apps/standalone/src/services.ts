import { createCouponService } from '@waymark/coupon-service'
import { createDecisionService } from '@waymark/decision-service'
import { createEmailConsumer, type MailOptions } from '@waymark/email-consumer'
import { createEnrichmentConsumer } from '@waymark/enrichment-consumer'
import { createIngestGateway } from '@waymark/ingest-gateway'
import { createLinkRedirector } from '@waymark/link-redirector'
import { createManagementApi } from '@waymark/management-api'
import { createPersistenceConsumer } from '@waymark/persistence-consumer'
import { combineServices, type Platform, type Service } from '@waymark/service-kit'

/** Every app, on one platform. */
export const createAllServices = (platform: Platform, mail: MailOptions): Required<Service> =>
  combineServices([
    createIngestGateway(platform),
    createEnrichmentConsumer(platform),
    createPersistenceConsumer(platform),
    createManagementApi(platform),
    createLinkRedirector(platform),
    createCouponService(platform),
    createDecisionService(platform),
    createEmailConsumer(platform, mail),
  ])
