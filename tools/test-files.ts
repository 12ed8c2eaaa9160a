// Which files belong to which project of Vitest. Used by vitest.config.ts and by the targets of Nx.

/** Tests in Chromium. */
export const BROWSER_TESTS = [
  'apps/console/tests/*.test.ts',
  'apps/ingest-gateway/tests/sdks-browser.test.ts',
  'libs/web-sdk/tests/*.test.ts',
]

/** Tests of an installation that runs already. */
export const DEPLOYED_TESTS = ['tools/end-to-end/tests/deployed.test.ts']

/**
 * Tests that take long, measure times or memory, or need a cluster of brokers; `npm run test:chaos` runs them. Each
 * guarantee that they test has a short test in `promises.test.ts` or in the package that gives it.
 */
export const CHAOS_TESTS = [
  'tools/chaos/tests/!(promises).test.ts',
  '{apps,libs,tools}/*/tests/**/*.chaos.test.ts',
  'libs/database/tests/restore.test.ts',
  'tools/end-to-end/tests/kafka-users.test.ts',
]

/** Tests that `npm test` runs with few cases, rounds or kills, and `npm run test:chaos` with many (`extent`). */
export const EXTENDED_TESTS = [
  'libs/domain/src/experiment/guard.test.ts',
  'tools/chaos/tests/promises.test.ts',
  'tools/api-tests/tests/{openapi,fuzz,foreign-ids}.test.ts',
  'tools/end-to-end/tests/{standalone,distributed}.test.ts',
  'apps/console/tests/console-pages.test.ts',
  'apps/standalone/tests/readme.test.ts',
  'apps/decision-service/tests/exposures.test.ts',
  'apps/{email-consumer,webhook-dispatcher}/tests/power-cut.test.ts',
  'apps/webhook-dispatcher/tests/receivers.test.ts',
  'apps/management-api/tests/{coupons,link-domains,stored-data}.test.ts',
  'apps/link-redirector/tests/link-domains.test.ts',
  'apps/webhook-dispatcher/tests/send-deliveries.test.ts',
  'libs/contracts/src/problem-message.test.ts',
  'libs/domain/src/decision/bucket.test.ts',
  'libs/domain/src/email/message-template.test.ts',
  'libs/event-store/tests/{clickhouse,duckdb}.test.ts',
  'libs/pipeline/tests/archive-erasure.test.ts',
  'apps/ingest-gateway/tests/{sdks,sdks-browser}.test.ts',
]

/** The tests in the folders `tests` that are not part of `integration`. */
export const NOT_INTEGRATION = [...BROWSER_TESTS, ...DEPLOYED_TESTS, ...CHAOS_TESTS]
