import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { balanceShards } from './balance-shards.ts'
import { readTimings } from './test-timings.ts'

/** The longest files, whose times are estimated where no run before has noted any. */
const LONG_MS = 100_000
const LONG_FILES = new Set([
  'apps/console/tests/console-pages.test.ts',
  'apps/console/tests/console.test.ts',
  'tools/api-tests/tests/fuzz.test.ts',
  'tools/api-tests/tests/openapi.test.ts',
  'tools/chaos/tests/promises.test.ts',
  'tools/end-to-end/tests/distributed.test.ts',
  'tools/end-to-end/tests/standalone.test.ts',
])

/** Orders files and divides them into shards by the times of earlier runs in `test-timings.json`. */
export class TimedSequencer extends BaseSequencer {
  readonly #times = readTimings(this.ctx.config.root).files

  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard ?? { index: 1, count: 1 }
    const shards = balanceShards(files, count, {
      nameOf: ({ project, moduleId }) => `${project.name} ${moduleId}`,
      timeOf: (file) => this.#timeOf(file),
    })
    return shards[index - 1] ?? []
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const longestFirst = (a: TestSpecification, b: TestSpecification): number =>
      a.project.config.sequence.groupOrder - b.project.config.sequence.groupOrder ||
      (a.project.name < b.project.name ? -1 : a.project.name > b.project.name ? 1 : 0) ||
      (this.#timeOf(b) ?? 0) - (this.#timeOf(a) ?? 0)
    return sorted.toSorted(longestFirst)
  }

  #timeOf({ moduleId }: TestSpecification): number | undefined {
    const file = moduleId.slice(this.ctx.config.root.length + 1)
    return this.#times[file] ?? (LONG_FILES.has(file) ? LONG_MS : undefined)
  }
}
