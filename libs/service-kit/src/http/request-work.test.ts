import { currentWork, requireOngoingWork } from '@waymark/domain/fairness'
import { describe, expect, it } from 'vitest'
import type { HttpRequest } from './request.ts'
import { chargeProject, chargeUser, runAsClient } from './request-work.ts'

const request = (ip: string, headers = {}, onEnd: HttpRequest['onEnd'] = () => {}) => ({ ip, headers, onEnd })

describe('the work of a request', () => {
  it('belongs to the network of the client until the caller is known', () => {
    const owners = ['2001:db8:1:2::1', '2001:db8:1:2::ffff'].map((ip) =>
      runAsClient(request(ip), currentWork),
    )
    expect(owners[0]).toEqual(owners[1])
    expect(owners[0]).toMatchObject({ kind: 'sign-in', owner: { projectId: '' } })
  })

  it('takes turns by the credentials of a network, which it does not keep', () => {
    const cookies = ['s=one', 's=two'].map((cookie) =>
      runAsClient(request('10.0.0.1', { cookie }), currentWork),
    )
    expect(cookies[0]?.owner.tenantId).toBe(cookies[1]?.owner.tenantId)
    expect(cookies[0]?.owner.projectId).not.toBe(cookies[1]?.owner.projectId)
    expect(JSON.stringify(cookies)).not.toContain('s=one')
  })

  it('gives no request a getter of its own, which would keep it in memory', () => {
    const work = runAsClient(request('10.0.0.1'), currentWork)
    const properties = Object.values(Object.getOwnPropertyDescriptors(work?.owner))
    expect(properties.filter(({ get }) => get !== undefined)).toEqual([])
  })

  it('belongs to the project or the user for the rest of the request', async () => {
    const seen = await runAsClient(request('10.0.0.1'), async () => {
      await Promise.resolve().then(() => chargeProject({ tenantId: 't', projectId: 'p' }, 'read'))
      const project = { ...currentWork() }
      chargeUser('u', 'general')
      return [project, { ...currentWork() }]
    })
    expect(seen).toMatchObject([
      { owner: { tenantId: 't', projectId: 'p' }, kind: 'read' },
      { owner: { tenantId: 'user u', projectId: '' }, kind: 'general' },
    ])
    expect(currentWork()).toBeUndefined()
  })

  it('is given up when the request has ended', () => {
    const listeners: ((status: number | undefined) => void)[] = []
    runAsClient(
      request('10.0.0.1', {}, (listener) => listeners.push(listener)),
      () => {
        chargeProject({ tenantId: 't', projectId: 'p' }, 'general')
        expect(requireOngoingWork).not.toThrow()
        for (const listener of listeners) listener(503)
        expect(requireOngoingWork).toThrow('The request took too long and was given up')
      },
    )
    // Work of the process has no request.
    expect(requireOngoingWork).not.toThrow()
  })
})
