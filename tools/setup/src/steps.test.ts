import { expect, it } from 'vitest'
import { readArguments } from './steps.ts'

it('runs every step unless some are named', () => {
  expect(readArguments([])).toEqual({ steps: new Set(['migrate', 'topics', 'demo']), newDemoKey: false })
  expect(readArguments(['topics'])).toEqual({ steps: new Set(['topics']), newDemoKey: false })
  expect(readArguments(['account'])).toEqual({ steps: new Set(['account']), newDemoKey: false })
  expect(readArguments(['reset-second-factor']).steps).toEqual(new Set(['reset-second-factor']))
  expect(readArguments(['rewind']).steps).toEqual(new Set(['rewind']))
  expect(readArguments(['skip']).steps).toEqual(new Set(['skip']))
  expect(readArguments(['--new-demo-key']).steps.size).toBe(3)
  expect(readArguments(['--new-demo-key', 'demo'])).toEqual({ steps: new Set(['demo']), newDemoKey: true })
})

it('refuses unknown steps', () => {
  expect(() => readArguments(['topics', 'everything'])).toThrow('everything')
})
