import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { variable } from '@waymark/service-kit'
import { Type } from 'typebox'
import { expect, it } from 'vitest'
import { describeConfiguration } from './configuration.ts'
import { allSections } from './sections.ts'

it('is the same on the page and in the code: npm run docs:config', async () => {
  const page = path.resolve(import.meta.dirname, '../../../docs/configuration.md')
  expect(await readFile(page, 'utf8')).toBe(describeConfiguration(await allSections()))
})

it('lists each variable with its values and default', () => {
  const port = variable('PORT', Type.Integer({ minimum: 0, maximum: 9, default: 8, description: 'Where.' }))
  const mode = variable('MODE', Type.Union([Type.Literal(''), Type.Literal('a')], { default: '' }))
  const otherMode = variable('MODE', Type.Union([Type.Literal(''), Type.Literal('a')], { default: 'a' }))
  const name = variable('NAME', Type.String({ description: 'One | other.' }))
  const page = describeConfiguration([
    { title: 'One', text: 'Why.', spec: { group: { port, mode } } },
    { title: 'Two', spec: { port, mode: otherMode, name } },
    { title: 'Three', spec: { port } },
  ])
  expect(page).toContain(
    '## One\n\nWhy.\n\n| variable | value | default | |\n| --- | --- | --- | --- |\n' +
      '| `PORT` | 0 to 9 | `8` | Where. |\n| `MODE` | `a` |  |  |\n\n## Two\n\n',
  )
  expect(page).toContain(
    '| `MODE` | `a` | `a` |  |\n| `NAME` | text | **required** | One \\| other. |\n\nAs above: `PORT`.\n',
  )
  expect(page).not.toContain('Three')
})
