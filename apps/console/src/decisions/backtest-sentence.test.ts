import { describe, expect, it } from 'vitest'
import { backtestSentence } from './backtest-sentence.ts'

const backtest = {
  people: 7,
  replayed: 7,
  sampled: false,
  severalVariants: 0,
  capped: { people: 0 },
  variants: [
    { variant: 'off', people: 0 },
    { variant: 'on', people: 7 },
  ],
}

describe('backtestSentence', () => {
  it.each([
    [{}, 'Of 7 people, 7 would have got on.'],
    [{ people: 0, replayed: 0 }, 'Nobody had such an event.'],
    [
      { people: 9_000, sampled: true, severalVariants: 2, capped: { people: 1 } },
      'Of a sample of 7 of 9,000 people, 7 would have got on, 2 of them more than one variant and 1 would have met the frequency cap.',
    ],
  ])('says %j', (change, sentence) => {
    expect(backtestSentence({ ...backtest, ...change })).toBe(sentence)
  })
})
