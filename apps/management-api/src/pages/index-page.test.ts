import type { HttpRequest } from '@waymark/service-kit'
import express, { type Request } from 'express'
import { describe, expect, it } from 'vitest'
import { indexRoute } from './index-page.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const get = async (accept: string, metricsPort = 9464) => {
  const { handler } = indexRoute({ apps: ['management-api', 'link-redirector'], metricsPort })
  const message: Request = Object.assign(Object.create(express.request), { headers: { accept } })
  const reply = await handler({ message } as HttpRequest, undefined as never)
  const { status = 200, headers, type = 'application/json', body } = reply
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, type, headers: { ...headers } as Record<string, string>, text }
}

describe('GET /', () => {
  it('redirects browsers to the console', async () => {
    const { status, headers } = await get(BROWSER)
    expect({ status, headers }).toMatchObject({ status: 302, headers: { Location: '/console/' } })
    expect(headers.Vary).toContain('Accept')
  })

  it.each(['*/*', 'application/json', 'text/plain'])('is JSON for %s', async (accept) => {
    const { status, text } = await get(accept)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({
      name: 'Waymark',
      apps: ['management-api', 'link-redirector'],
      console: '/console/',
      docs: '/docs',
      health: '/healthz',
      metrics: { path: '/metrics', port: 9464 },
    })
  })

  it('omits an unknown port for metrics', async () => {
    expect(JSON.parse((await get('*/*', 0)).text).metrics).toEqual({ path: '/metrics' })
  })
})
