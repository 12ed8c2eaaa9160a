import { expect, it } from 'vitest'
import { bounded, MAX_ANSWER_LENGTH } from './toolbox.ts'
import { MAX_RECORDS, toolsOf } from './tools.ts'

const isReading = ({ annotations }: ReturnType<typeof toolsOf>[number]) => annotations.readOnlyHint

it('offers tools that change something only when that is allowed', () => {
  expect(toolsOf(false).every(isReading)).toBe(true)
  const writing = toolsOf(true).filter((tool) => !isReading(tool))
  expect(writing.map(({ name }) => name)).toContain('activate_decision')
  expect(toolsOf(true)).toHaveLength(toolsOf(false).length + writing.length)
})

it('takes the schemas of the arguments from the contracts, each name once', () => {
  for (const { name, parts, inputSchema, operation } of toolsOf(true)) {
    const all = [...parts.path, ...parts.query, ...parts.body]
    expect([name, new Set(all).size]).toEqual([name, all.length])
    expect(Object.keys(inputSchema.properties).sort()).toEqual(all.toSorted())
    expect(inputSchema.required.every((one) => all.includes(one))).toBe(true)
    expect(operation.access).toMatchObject({ by: 'project' })
  }
  const events = toolsOf(false).find(({ name }) => name === 'list_events')
  expect(events?.inputSchema.properties.limit).toMatchObject({ maximum: MAX_RECORDS })
})

it('cuts long lists, and refuses other long answers', () => {
  const text = 'x'.repeat(1_000)
  const list = (count: number) => ({
    data: Array.from({ length: count }, () => ({ text })),
    nextCursor: 'more',
  })
  const records = JSON.stringify({ text }).length + 1
  const fits = Math.floor((MAX_ANSWER_LENGTH - 100) / records)
  expect(JSON.parse(bounded(list(fits)))).toEqual(list(fits))
  const cut = JSON.parse(bounded(list(100)))
  expect(cut.data.length).toBeLessThan(100)
  expect(cut).toMatchObject({
    nextCursor: null,
    omitted: `${100 - cut.data.length} records of this page do not fit. Ask for fewer with limit, or filter.`,
  })
  expect(bounded(list(100)).length).toBeLessThanOrEqual(MAX_ANSWER_LENGTH)
  expect(() => bounded({ series: list(100).data })).toThrow('Ask for less')
  expect(bounded(undefined)).toBe('null')
})
