/**
 * Imports go one way: apps → service-kit → pipeline → project-config → adapters → database and kafka-client → domain →
 * contracts.
 * A layer may use any layer to its right, and nothing to its left.
 */
const layers = [
  ['apps', '^apps/'],
  ['service-kit', '^libs/service-kit/'],
  ['pipeline', '^libs/pipeline/'],
  ['project-config', '^libs/project-config/'],
  ['adapters', '^libs/(event-bus|cache|event-store|event-files)/'],
  ['database', '^libs/(database|kafka-client)/'],
  ['domain', '^libs/domain/'],
  ['contracts', '^libs/contracts/'],
]

const TESTS = '(\\.test\\.ts$|/tests/|^libs/testing/)'

const oneWay = layers.slice(1).map(([name, path], index) => ({
  name: `${name}-imports-no-layer-above`,
  severity: 'error',
  from: { path, pathNot: TESTS },
  to: { path: layers.slice(0, index + 1).map(([, above]) => above) },
}))

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...oneWay,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'apps-are-not-imported',
      comment: 'Nothing imports an app, except the one that runs them all, and tests of all apps together.',
      severity: 'error',
      from: {
        path: '^(?:apps|libs|tools)/([^/]+)/',
        pathNot: '^apps/standalone/|^tools/(api-tests|end-to-end)/tests/',
      },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'client-imports-no-other-package',
      comment: 'It is published by itself. Its types are generated from the contracts.',
      severity: 'error',
      from: { path: '^libs/client/', pathNot: `${TESTS}|^libs/client/(generate|build-python)\\.ts$` },
      to: { path: '^(apps|libs|tools)/', pathNot: '^libs/client/' },
    },
    {
      name: 'adapters-do-not-import-each-other',
      severity: 'error',
      from: { path: '^libs/(event-bus|cache|event-store|event-files)/', pathNot: TESTS },
      to: { path: '^libs/(event-bus|cache|event-store|event-files)/', pathNot: '^libs/$1/' },
    },
    {
      name: 'domain-and-contracts-do-no-io',
      severity: 'error',
      from: { path: '^libs/(domain|contracts)/', pathNot: TESTS },
      to: {
        path: [
          '^(child_process|cluster|dgram|dns|fs|http|http2|https|net|process|tls|worker_threads)(/|$)',
          '^node_modules/(pg|kafkajs|ioredis|express|undici|nodemailer|@prisma)/',
        ],
      },
    },
    {
      name: 'packages-are-imported-by-their-index',
      comment: 'A lib by its index, an app by its app.ts; nothing imports a tool.',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/([^/]+)/' },
      to: {
        path: '^(apps|libs|tools)/',
        pathNot: [
          '^$1/$2/',
          '^libs/[^/]+/src/index\\.ts$',
          // Each store's client is loaded by itself.
          '^libs/event-store/src/(clickhouse|duckdb)/index\\.ts$',
          // Contracts are imported by their file and rules of the domain by their subject.
          '^libs/contracts/src/(?!.*\\.test\\.ts$).+\\.ts$',
          '^libs/domain/src/[^/]+/index\\.ts$',
          '^apps/[^/]+/src/app\\.ts$',
          '^libs/testing/src/(child-process|chromium|servers|unit|used-memory)\\.ts$',
          // It belongs to no package.
          '^tools/test-files\\.ts$',
        ],
      },
    },
    {
      name: 'pipeline-folders-are-imported-by-their-index',
      severity: 'error',
      from: { path: '^libs/pipeline/src/([^/]+)' },
      to: {
        path: '^libs/pipeline/src/[^/]+/',
        pathNot: ['^libs/pipeline/src/$1/', '^libs/pipeline/src/[^/]+/index\\.ts$'],
      },
    },
    {
      name: 'only-tests-import-testing',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/', pathNot: [TESTS, '^tools/bench/'] },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'packages-declare-what-they-import',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/generated/|^apps/(console|cli)/dist/|^libs/(client|web-sdk)/dist/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
