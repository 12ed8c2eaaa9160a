import path from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { CHROMIUM } from './libs/testing/src/find-chromium.ts'
import { dockerAnswers, filesThatNeedContainers } from './libs/testing/src/needs-containers.ts'
import { TimedSequencer } from './libs/testing/src/timed-sequencer.ts'
import {
  BROWSER_TESTS,
  CHAOS_TESTS,
  DEPLOYED_TESTS,
  EXTENDED_TESTS,
  NOT_INTEGRATION,
} from './tools/test-files.ts'

// In CI a missing Docker fails the run, so nothing is left out there.
const hasContainers = Boolean(process.env.CI) || dockerAnswers()
const leftOut = hasContainers ? [] : filesThatNeedContainers(import.meta.dirname)
// More than the two processors of CI: tests wait for containers, processes and browsers. The same for all projects,
// because those that run together must have the same number.
const maxWorkers = 3
// A page waits a third of the time, for what is typed to rest and for what is stored to appear. With containers, tests in
// a browser run apart from the others and may have another number.
const browserWorkers = hasContainers ? 4 : maxWorkers

// As long as `eventually` waits. Without this, Vitest gives up after one second.
const poll = { timeout: 60_000 }

/** Compiled files, which the processes of tests and those that they start share. */
const NODE_COMPILE_CACHE = path.join(import.meta.dirname, 'node_modules/.cache/compiled')

const FIXED_SEED = ['./libs/testing/src/fixed-seed.ts']

/** Lets the summary count what a project uses. */
const counted = (project: string, env: Record<string, string> = {}, further: string[] = []) => ({
  env: { TEST_PROJECT: project, NODE_COMPILE_CACHE, ...env },
  setupFiles: ['./libs/testing/src/count-cpu.ts', ...further],
})

export default defineConfig({
  test: {
    reporters: [
      'default',
      [
        './libs/testing/src/summary-reporter.ts',
        { leftOut, hasChromium: CHROMIUM !== undefined, timingsFolder: import.meta.dirname },
      ],
    ],
    sequence: { sequencer: TimedSequencer },
    projects: [
      {
        test: {
          name: 'unit',
          ...counted('unit', {}, FIXED_SEED),
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
          ...counted('integration', {}, FIXED_SEED),
          include: ['{apps,libs,tools}/*/tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...NOT_INTEGRATION, ...leftOut],
          globalSetup: './libs/testing/src/global-setup.ts',
          // A process for each file would load every library again, which is a third of the CPU time.
          isolate: false,
          unstubEnvs: true,
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
          ...counted('browser'),
          include: BROWSER_TESTS,
          exclude: CHAOS_TESTS,
          isolate: false,
          // Chromium aborts its requests whenever the network of a container comes or goes: with containers, after all others.
          sequence: { groupOrder: hasContainers ? 1 : 0 },
          testTimeout: 180_000,
          hookTimeout: 420_000,
          // As long as Playwright waits.
          expect: { poll: { timeout: 30_000 } },
          maxWorkers: browserWorkers,
        },
      },
      {
        test: {
          // It installs another version, so only `npm run test:upgrade` runs it.
          name: 'upgrade',
          ...counted('upgrade'),
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
          ...counted('deployed'),
          include: DEPLOYED_TESTS,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          // Long tests, one file at a time: those that break things, and those that measure times or memory.
          name: 'chaos',
          // As in production, where answers are not validated.
          ...counted('chaos', { CHAOS: process.env.CHAOS ?? 'whole', NODE_ENV: 'production' }),
          include: [...CHAOS_TESTS, ...EXTENDED_TESTS],
          globalSetup: './libs/testing/src/global-setup.ts',
          testTimeout: 180_000,
          hookTimeout: 420_000,
          expect: { poll },
          fileParallelism: false,
        },
      },
    ],
  },
})
