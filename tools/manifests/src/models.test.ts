import { expect, it } from 'vitest'
import { schemaProblems, unknownFields } from './models.ts'

const service = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop' },
  spec,
})

it('finds nothing wrong with what is right', async () => {
  const right = service({ selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 'http' }] })
  expect(await schemaProblems([right])).toEqual([])
  expect(unknownFields([right])).toEqual([])
})

it('finds a value that does not fit', async () => {
  expect(await schemaProblems([service({ ports: [{ port: 'eighty' }] })])).toEqual([
    expect.stringContaining('Service shop'),
  ])
})

it('finds a field that is misspelt', () => {
  expect(unknownFields([service({}), service({ ports: [{ port: 80, tragetPort: 'http' }] })])).toEqual([
    expect.stringMatching(/Service shop: .*tragetPort/),
  ])
})

it('finds a kind that does not exist', async () => {
  const odd = { ...service({}), kind: 'Servise' }
  expect(await schemaProblems([odd])).toHaveLength(1)
  expect(unknownFields([odd])).not.toEqual([])
})
