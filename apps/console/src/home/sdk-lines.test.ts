import { expect, it } from 'vitest'
import page from '../../../../docs/sdks.md?raw'
import { sdkLines } from './sdk-lines.ts'

it('shows the line of each SDK that docs/sdks.md lists', () => {
  const rows = [...page.matchAll(/^\| [^|]*, `([^`]+)` \| `([^`]+)` \|$/gm)]
  expect(rows.length).toBeGreaterThanOrEqual(6)
  const shown = sdkLines('KEY', 'https://events.example.com').split('\n')
  for (const [, name = '', line] of rows) {
    const at = shown.findIndex((text) => text.endsWith(`: ${name}`))
    expect(shown[at + 1], name).toBe(line)
  }
  expect(shown).toHaveLength(2 * rows.length)
})
