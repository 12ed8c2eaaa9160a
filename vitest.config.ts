import { configDefaults, defineConfig } from 'vitest/config'
import { dockerAnswers, filesThatNeedContainers } from './libs/testing/src/needs-containers.ts'

const DEPLOYED_TESTS = 'tools/end-to-end/tests/deployed.test.ts'
const BROWSER_TESTS = ['apps/console/tests/*.test.ts', 'apps/ingest-gateway/tests/sdks-browser.test.ts']

// In CI a missing Docker fails the run, so nothing is left out there.
const hasContainers = Boolean(process.env.CI) || dockerAnswers()
const leftOut = hasContainers ? [] : filesThatNeedContainers(import.meta.dirname)
// Containers use the processor too. Projects that run together must have the same number.
const maxWorkers = hasContainers ? 2 : 3

// As long as `eventually` waits. Without this, Vitest gives up after one second.
const poll = { timeout: 60_000 }

export default defineConfig({
  test: {
    reporters: ['default', ['./libs/testing/src/summary-reporter.ts', { leftOut }]],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{apps,libs,tools}/*/src/**/*.test.ts'],
          // These tests start nothing that they share: a process for each file would double their CPU time.
          isolate: false,
          maxWorkers,
          // A failed condition is reported by `eventually` after a minute; until then a busy machine may take its time.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{apps,libs,tools}/*/tests/**/*.test.ts'],
          exclude: [
            ...configDefaults.exclude,
            // It measures times, which only mean something with nothing beside it; `chaos` runs it.
            'tools/api-tests/tests/blocking.test.ts',
            ...BROWSER_TESTS,
            DEPLOYED_TESTS,
            ...leftOut,
          ],
          globalSetup: './libs/testing/src/global-setup.ts',
          testTimeout: 180_000,
          // A hook may start containers, which are waited for up to five minutes.
          hookTimeout: 420_000,
          expect: { poll },
          maxWorkers,
        },
      },
      {
        test: {
          name: 'browser',
          include: BROWSER_TESTS,
          // Chromium aborts its requests whenever the network of a container comes or goes: with containers, after all others.
          sequence: { groupOrder: hasContainers ? 1 : 0 },
          testTimeout: 180_000,
          hookTimeout: 420_000,
          // As long as Playwright waits.
          expect: { poll: { timeout: 30_000 } },
          maxWorkers,
        },
      },
      {
        test: {
          // It installs another version, so only `npm run test:upgrade` runs it.
          name: 'upgrade',
          include: ['tools/chaos/upgrade/*.test.ts'],
          globalSetup: './libs/testing/src/global-setup.ts',
          testTimeout: 180_000,
          hookTimeout: 420_000,
        },
      },
      {
        test: {
          // Tests of an installation that runs already. `npm run test:cluster` runs them.
          name: 'deployed',
          include: [DEPLOYED_TESTS],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          // What of `integration` breaks things or breaks in, for as long as it takes to be sure, and nothing beside it.
          name: 'chaos',
          include: [
            'tools/chaos/tests/**/*.test.ts',
            'tools/api-tests/tests/{fuzz,foreign-ids,blocking}.test.ts',
          ],
          globalSetup: './libs/testing/src/global-setup.ts',
          env: { CHAOS: 'whole' },
          testTimeout: 180_000,
          hookTimeout: 420_000,
          expect: { poll },
          fileParallelism: false,
        },
      },
    ],
  },
})
