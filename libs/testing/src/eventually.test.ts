import { expect, it } from 'vitest'
import { eventually } from './eventually.ts'

it.each([undefined, null, false])('asks again while the answer is %s', async (notYet) => {
  const answers = [notYet, notYet, 0]
  expect(await eventually('there is a number', () => answers.shift())).toBe(0)
  expect(answers).toEqual([])
})

it('asks again after an error, and throws the last one', async () => {
  const results = [new Error('first'), 'answer']
  const ask = (): string => {
    const result = results.shift()
    if (typeof result === 'string') return result
    throw result ?? new Error('last')
  }
  expect(await eventually('there is an answer', ask)).toBe('answer')
  await expect(eventually('there is another', ask, 1)).rejects.toThrow('last')
})
