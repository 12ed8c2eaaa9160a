import { runAsProcess, runAsWork } from '@waymark/domain/fairness'
import { describe, expect, it } from 'vitest'
import { openDatabase } from './database.ts'
import { connectionShares } from './fair-pool.ts'

describe('the shares of connections', () => {
  it.each([2, 3, 5, 10, 20, 500])('leave a connection for each lane and others, of %i', (connections) => {
    const { capacity, perTenant = 0, lanes } = connectionShares(connections)
    const reserved = Object.values(lanes ?? {}).reduce((sum, lane) => sum + (lane.reserved ?? 0), 0)
    expect(capacity - reserved).toBeGreaterThan(0)
    expect(perTenant).toBeLessThan(connections)
    expect(lanes?.read.max).toBeLessThan(connections)
  })

  it('divide ten connections as documented', () => {
    expect(connectionShares(10)).toMatchObject({
      perTenant: 4,
      lanes: {
        'sign-in': { reserved: 1 },
        ingestion: { reserved: 1 },
        process: { reserved: 1 },
        read: { max: 3, perTenant: 2 },
      },
    })
    expect(connectionShares(20).lanes?.read).toEqual({ max: 6, perTenant: 2 })
    expect(connectionShares(100).lanes?.read).toEqual({ max: 30, perTenant: 10 })
  })
})

describe('a database', () => {
  it('keeps connections for other tenants and for the process', async () => {
    // Nothing answers there, so that a caller with a turn fails, and one without a turn waits.
    const db = openDatabase({
      url: 'postgres://nobody@127.0.0.1:9/none',
      poolSize: 10,
      applicationName: 'test',
      onError: () => {},
    })
    const connectAs = (tenantId: string) =>
      runAsWork({ tenantId, projectId: '' }, () => db.pool.connect().catch((error) => error))
    const asked = Array.from({ length: 50 }, () => connectAs('a'))
    expect(db.waiting()).toBe(46)
    asked.push(connectAs('b'))
    asked.push(runAsProcess(() => db.pool.connect().catch((error) => error)))
    expect(db.waiting()).toBe(46)
    const errors = await Promise.all(asked)
    expect(new Set(errors.map((error) => error.code))).toEqual(new Set(['ECONNREFUSED']))
  })
})
