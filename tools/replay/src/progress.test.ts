import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createProgress, type State } from './progress.ts'

const state: State = { sent: 1_200, accepted: 1_200, failed: 0, skipped: 0, bytes: 50, waiting: undefined }
const outputOf = (isTTY: boolean) => {
  const stream = new PassThrough({ encoding: 'utf8' })
  return { output: Object.assign(stream, { isTTY, columns: 120 }), text: () => String(stream.read() ?? '') }
}

test('without a terminal: a plain line every few seconds, and when a wait starts and ends', () => {
  const { output, text } = outputOf(false)
  let time = 0
  const progress = createProgress(output, 200, () => time)
  progress.update(state)
  expect(text()).toBe('')
  time = 3_000
  progress.update(state)
  expect(text()).toBe('25% 1,200 sent\n')
  progress.update({ ...state, waiting: 'ECONNREFUSED' })
  progress.update({ ...state, waiting: 'ECONNREFUSED' })
  expect(text()).toBe('25% 1,200 sent, waiting: ECONNREFUSED\n')
  progress.update({ ...state, failed: 3, skipped: 2 })
  expect(text()).toBe('25% 1,200 sent, 3 failed, 2 skipped\n')
  progress.stop()
})

test('on a terminal: a bar that shows what it waits for', () => {
  const { output, text } = outputOf(true)
  // The bar moves the cursor, which needs a real terminal stream.
  const terminal = Object.assign(output, { cursorTo() {}, moveCursor() {}, clearLine() {} })
  const progress = createProgress(terminal, 200)
  progress.update({ ...state, waiting: 'ECONNREFUSED' })
  progress.stop()
  expect(text()).toMatch(/█+░+ 25% \| 1,200 sent \| waiting: ECONNREFUSED/)
})

test('of a source without a known end: no percentage', () => {
  const { output, text } = outputOf(false)
  let time = 0
  const progress = createProgress(output, undefined, () => time)
  time = 10_000
  progress.update(state)
  expect(text()).toBe('1,200 sent\n')
  progress.stop()
})
