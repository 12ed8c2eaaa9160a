import { expect, it } from 'vitest'
import { needsContainers } from './needs-containers.ts'

it.each([
  [true, "describe.skipIf(!services)('a', () => {\n  it('b', () => {})\n})\n"],
  [true, "describe.skipIf(!services)('a', () => {})\ndescribe.skipIf(!services).each([1])('b', () => {})\n"],
  [false, "describe.skipIf(!services)('a', () => {})\ndescribe('b', () => {})\n"],
  [false, "describe.skipIf(!services)('a', () => {})\nit.each([1])('b', () => {})\n"],
  [false, "describe('a', () => {\n  describe.skipIf(!services)('b', () => {})\n})\n"],
  [false, "describe.skipIf(!CHROMIUM)('a', () => {})\n"],
  [false, "import { it } from 'vitest'\n"],
])('%j: a file needs containers if all of its suites do', (needs, source) => {
  expect(needsContainers(source)).toBe(needs)
})
