import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    reporters: ['default', './libs/testing/src/summary-reporter.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{apps,libs,tools}/*/src/**/*.test.ts'],
          // Property tests take their time on a busy machine.
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{apps,libs,tools}/*/tests/**/*.test.ts'],
          globalSetup: './libs/testing/src/global-setup.ts',
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // Each file starts processes of its own; more at once only slow each other down.
          maxWorkers: 2,
          // A machine that stands still for a moment fails no release; what needed it is named at the end of the run.
          retry: process.env.CI ? 1 : 0,
        },
      },
      {
        test: {
          // What of `integration` breaks things or breaks in, for as long as it takes to be sure, and nothing beside it.
          name: 'chaos',
          include: ['tools/chaos/tests/**/*.test.ts', 'apps/standalone/tests/{fuzz,foreign-ids}.test.ts'],
          globalSetup: './libs/testing/src/global-setup.ts',
          env: { CHAOS: 'whole' },
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
