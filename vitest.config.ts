import { configDefaults, defineConfig } from 'vitest/config'

const BROWSER_TESTS = 'apps/standalone/tests/{console*,sdks-browser}.test.ts'

export default defineConfig({
  test: {
    reporters: ['default', './libs/testing/src/summary-reporter.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{apps,libs,tools}/*/src/**/*.test.ts'],
          // These tests start nothing that they share: a process for each file would double their CPU time.
          isolate: false,
          maxWorkers: 2,
          // A failed condition is reported by `eventually` after a minute; until then a busy machine may take its time.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{apps,libs,tools}/*/tests/**/*.test.ts'],
          exclude: [
            ...configDefaults.exclude,
            // It measures times, which only mean something with nothing beside it; `chaos` runs it.
            'apps/standalone/tests/blocking.test.ts',
            BROWSER_TESTS,
          ],
          globalSetup: './libs/testing/src/global-setup.ts',
          testTimeout: 180_000,
          // A hook may start containers, which are waited for up to five minutes.
          hookTimeout: 420_000,
          // Each file starts processes of its own; more at once only slow each other down.
          maxWorkers: 2,
        },
      },
      {
        test: {
          // After all others: Chromium breaks off its requests whenever a container's network comes or goes.
          name: 'browser',
          include: [BROWSER_TESTS],
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 420_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          // What of `integration` breaks things or breaks in, for as long as it takes to be sure, and nothing beside it.
          name: 'chaos',
          include: [
            'tools/chaos/tests/**/*.test.ts',
            'apps/standalone/tests/{fuzz,foreign-ids,blocking}.test.ts',
          ],
          globalSetup: './libs/testing/src/global-setup.ts',
          env: { CHAOS: 'whole' },
          testTimeout: 180_000,
          hookTimeout: 420_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
