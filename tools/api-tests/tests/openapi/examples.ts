import { accountExamples } from './accounts.ts'
import { analyticsExamples } from './analytics.ts'
import { catalogExamples } from './catalog.ts'
import { couponExamples } from './coupons.ts'
import { decisionExamples } from './decisions.ts'
import { documentationExamples } from './documentation.ts'
import { emailExamples } from './email.ts'
import type { Example } from './example.ts'
import { ingestionExamples } from './ingestion.ts'
import { linkExamples } from './links.ts'
import { loyaltyExamples } from './loyalty.ts'
import { oidcExamples } from './oidc.ts'
import { peopleExamples } from './people.ts'
import { webhookExamples } from './webhooks.ts'

/** Requests to each operation, by its id. */
export const examples: ReadonlyMap<string, Example> = new Map(
  [
    ingestionExamples,
    accountExamples,
    oidcExamples,
    analyticsExamples,
    catalogExamples,
    decisionExamples,
    peopleExamples,
    linkExamples,
    couponExamples,
    loyaltyExamples,
    emailExamples,
    webhookExamples,
    documentationExamples,
  ]
    .flat()
    .map((example) => [example.operation.id, example]),
)
