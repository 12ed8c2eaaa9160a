import { runAsWork } from '@waymark/domain/fairness'
import { describe, expect, it } from 'vitest'
import { limitConcurrency } from './limit-concurrency.ts'
import type { ProjectRequest } from './project-route.ts'

/** Projects are named `<tenant>-<number>`. */
const setUp = ({ reclaims = false, maxWaitMs = 0 } = {}) => {
  const ends: (() => void)[] = []
  const ended: string[] = []
  const answer = limitConcurrency({ perProject: 2, perTenant: 3, total: 5, reclaims, maxWaitMs })(
    async () => ({
      body: 'done',
    }),
  )
  const ask = (projectId: string) =>
    runAsWork({ tenantId: projectId.split('-')[0] ?? '', projectId }, () =>
      answer({
        projectId,
        request: {
          onEnd: (end: () => void) => ends.push(end),
          message: { socket: { destroySoon: () => ended.push(projectId) } },
        },
      } as unknown as ProjectRequest),
    )
  const refusal = (projectId: string) =>
    ask(projectId).then(
      () => undefined,
      (error: Error) => error.message,
    )
  return { ask, refusal, ends, ended }
}

describe('long answers', () => {
  it('are limited for a project', async () => {
    const { ask, refusal } = setUp()
    await Promise.all([ask('a-1'), ask('a-1')])
    expect(await refusal('a-1')).toMatch(/^This project has 2 exports running/)
    expect(await refusal('a-2')).toBeUndefined()
  })

  it('are limited for all projects of a tenant', async () => {
    const { ask, refusal } = setUp()
    await Promise.all(['a-1', 'a-2', 'a-3'].map(ask))
    expect(await refusal('a-4')).toMatch(/^The projects of this tenant have 3 exports running/)
    expect(await refusal('b-1')).toBeUndefined()
  })

  it('are limited in total', async () => {
    const { ask, refusal } = setUp()
    await Promise.all(['a-1', 'a-2', 'a-3', 'b-1', 'c-1'].map(ask))
    expect(await refusal('d-1')).toMatch(/^5 exports are running/)
  })

  it('count until they have ended', async () => {
    const { ask, refusal, ends } = setUp()
    await Promise.all(['a-1', 'a-1', 'a-2'].map(ask))
    expect(await refusal('a-2')).toMatch(/^The projects of this tenant/)
    for (const end of ends.splice(0)) end()
    await Promise.all(['a-1', 'a-1', 'a-2', 'b-1', 'b-1'].map(ask))
    expect(await refusal('c-1')).toMatch(/^5 exports/)
  })

  it('wait for their place, if they may', async () => {
    const { ask, ends } = setUp({ maxWaitMs: 60_000 })
    await Promise.all([ask('a-1'), ask('a-1')])
    const endsOfBoth = ends.splice(0)
    const third = ask('a-1')
    for (const end of endsOfBoth) end()
    expect(await third).toEqual({ body: 'done' })
  })

  it('stop waiting when their client has left, which is no error of the server', async () => {
    const { ask, ends } = setUp({ maxWaitMs: 60_000 })
    await Promise.all([ask('a-1'), ask('a-1')])
    ends.length = 0
    const third = ask('a-1')
    for (const leave of ends) leave()
    await expect(third).rejects.toMatchObject({ code: 'bad_request' })
  })

  it('are refused after the longest wait', async () => {
    const { ask, refusal } = setUp({ maxWaitMs: 1 })
    await Promise.all([ask('a-1'), ask('a-1')])
    expect(await refusal('a-1')).toMatch(/^This project has 2 exports running/)
  })

  it('of a tenant that has many end for one that has fewer, if they can be repeated', async () => {
    const { ask, refusal, ended } = setUp({ reclaims: true })
    await Promise.all(['a-1', 'a-2', 'a-3', 'b-1', 'b-2'].map(ask))
    expect(await refusal('c-1')).toBeUndefined()
    expect(ended).toEqual(['a-3'])
    expect(await refusal('c-2')).toMatch(/^5 exports are running/)
  })
})
