import { expect, it } from 'vitest'
import { createLastTurns } from './generate-codes.ts'

it('generation serves tenants in turn, and within one its projects', () => {
  const turns = createLastTurns()
  const owners = ['a1', 'a2', 'a3', 'b1'].map((projectId) => ({ tenantId: projectId.charAt(0), projectId }))
  const served: string[] = []
  for (let n = 0; n < 6; n++) {
    const [next] = turns.inOrder(owners)
    if (!next) break
    turns.note(next)
    served.push(next.projectId)
  }
  expect(served).toEqual(['a1', 'b1', 'a2', 'b1', 'a3', 'b1'])
})
