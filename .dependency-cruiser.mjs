/**
 * Imports go one way: apps → service-kit → pipeline → project-config → adapters → domain → contracts.
 * A layer may use any layer to its right, and nothing to its left.
 */
const layers = [
  ['apps', '^apps/'],
  ['service-kit', '^libs/service-kit/'],
  ['pipeline', '^libs/pipeline/'],
  ['project-config', '^libs/project-config/'],
  ['adapters', '^libs/(event-bus|cache|analytics)/'],
  ['database', '^libs/database/'],
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
      name: 'apps-stand-alone',
      comment: 'Nothing imports an app, except the one that runs them all.',
      severity: 'error',
      from: { path: '^(?:apps|libs|tools)/([^/]+)/', pathNot: '^apps/standalone/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'adapters-stand-apart',
      severity: 'error',
      from: { path: '^libs/(event-bus|cache|analytics)/', pathNot: TESTS },
      to: { path: '^libs/(event-bus|cache|analytics)/', pathNot: '^libs/$1/' },
    },
    {
      name: 'domain-and-contracts-do-no-io',
      severity: 'error',
      from: { path: '^libs/(domain|contracts)/src/', pathNot: TESTS },
      to: { path: '^(node:)?(fs|net|http|https|child_process|dns|pg|kafkajs|ioredis|express)(/|$)' },
    },
    {
      name: 'libs-are-entered-by-their-index',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/([^/]+)/' },
      to: {
        path: '^libs/[^/]+/src/',
        pathNot: ['^libs/$2/', '/src/index\\.ts$', '^libs/testing/src/servers\\.ts$'],
      },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/', pathNot: [TESTS, '^tools/bench/'] },
      to: { path: '^libs/testing/' },
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
    exclude: { path: ['/generated/', '^node_modules'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
