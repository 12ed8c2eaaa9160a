import { createMemoryLog } from '@waymark/testing/unit'
import { expect, it } from 'vitest'
import { createScope } from './scope.ts'

it('closes the last part first, one after the other', async () => {
  const scope = createScope(createMemoryLog())
  const steps: string[] = []
  for (const name of ['database', 'bus', 'http']) {
    scope.onStop(name, async () => {
      steps.push(`${name} stops`)
      await new Promise((resolve) => setImmediate(resolve))
      steps.push(`${name} stopped`)
    })
  }
  await scope.dispose()
  expect(steps).toEqual([
    'http stops',
    'http stopped',
    'bus stops',
    'bus stopped',
    'database stops',
    'database stopped',
  ])
})

it('closes all parts although one fails, and reports it', async () => {
  const log = createMemoryLog()
  const scope = createScope(log)
  const undone: string[] = []
  scope.onStop('database', async () => undone.push('database'))
  scope.onStop('bus', () => Promise.reject(new Error('no broker')))
  scope.onStop('http', async () => undone.push('http'))
  await scope.dispose()
  expect(undone).toEqual(['http', 'database'])
  expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ details: { part: 'bus' } }])
})

it('closes all parts once', async () => {
  const scope = createScope(createMemoryLog())
  let undone = 0
  scope.onStop('database', async () => undone++)
  await Promise.all([scope.dispose(), scope.dispose()])
  await scope.dispose()
  expect(undone).toBe(1)
})
