import { expect, it } from 'vitest'
import { schemaProblems, unknownFields } from './models.ts'

const service = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop' },
  spec,
})

it('reports nothing for a valid manifest', async () => {
  const right = service({ selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 'http' }] })
  expect(await schemaProblems([right])).toEqual([])
  expect(unknownFields([right])).toEqual([])
})

it('reports an invalid value', async () => {
  expect(await schemaProblems([service({ ports: [{ port: 'eighty' }] })])).toEqual([
    expect.stringContaining('Service shop'),
  ])
})

it('reports a misspelled field', () => {
  expect(unknownFields([service({}), service({ ports: [{ port: 80, tragetPort: 'http' }] })])).toEqual([
    expect.stringMatching(/Service shop: .*tragetPort/),
  ])
})

it('reports an unknown kind', async () => {
  const odd = { ...service({}), kind: 'Servise' }
  expect(await schemaProblems([odd])).toHaveLength(1)
  expect(unknownFields([odd])).not.toEqual([])
})

it('reports errors in the templates of the operator of ClickHouse', async () => {
  const installation = (templates: object) => ({
    apiVersion: 'clickhouse.altinity.com/v1',
    kind: 'ClickHouseInstallation',
    metadata: { name: 'shop' },
    spec: { templates },
  })
  const pod = { name: 'server', spec: { containers: [{ name: 'a', image: 'b' }], hostNetworks: true } }
  const claim = { name: 'data', spec: { resources: { requests: { storage: '1Gi' } } } }
  const found = [installation({ podTemplates: [pod], volumeClaimTemplates: [claim] })]
  expect(unknownFields(found)).toEqual([
    expect.stringMatching(/Pod ClickHouseInstallation shop, server: .*hostNetworks/),
  ])
  const services = [{ name: 'all', spec: { ports: [{ port: 'http' }] } }]
  expect(await schemaProblems([installation({ serviceTemplates: services })])).toEqual([
    expect.stringContaining('Service ClickHouseInstallation shop, all'),
  ])
})
