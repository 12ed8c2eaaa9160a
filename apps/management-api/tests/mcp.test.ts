import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

const HOUR_MS = 3_600_000

describe.skipIf(!services)('the server of the Model Context Protocol', () => {
  let management: Management
  let owner: Browser
  let projectId: string
  let token: string
  const clients: Client[] = []

  beforeAll(async () => {
    management = await startManagement({ arrange: (service) => ({ ...service, loops: [] }) })
    const registered = await management.register()
    owner = registered
    projectId = registered.account.projects[0]?.id ?? ''
    token = await tokenOf(owner)
  })
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()))
    await management?.stop()
  })

  const tokenOf = async (browser: Browser): Promise<string> => {
    const body = {
      name: 'Assistant',
      projectIds: null,
      expiresAt: new Date(Date.now() + HOUR_MS).toISOString(),
    }
    const response = await browser.request('POST', '/api/auth/access-tokens', body)
    return ((await response.json()) as { token: string }).token
  }
  const connect = async (bearer: string, query = ''): Promise<Client> => {
    const client = new Client({ name: 'test', version: '0' })
    await client.connect(
      // The SDK declares its own transports without `exactOptionalPropertyTypes`.
      new StreamableHTTPClientTransport(new URL(`${management.url}/mcp${query}`), {
        requestInit: { headers: { Authorization: `Bearer ${bearer}` } },
      }) as Parameters<Client['connect']>[0],
    )
    clients.push(client)
    return client
  }
  type Result = { isError?: boolean; content: { text: string }[] }
  const call = async (client: Client, name: string, args?: Record<string, unknown>): Promise<Result> =>
    (await client.callTool({ name, arguments: args })) as Result
  const ask = async (client: Client, name: string, args?: Record<string, unknown>) => {
    const { isError, content } = await call(client, name, args)
    if (isError) throw new Error(content[0]?.text)
    return JSON.parse(content[0]?.text ?? '')
  }
  const post = (body: string, headers: Record<string, string> = { Authorization: `Bearer ${token}` }) =>
    fetch(`${management.url}/mcp`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    })

  it('answers the official client with the tools of the only project of its token', async () => {
    const client = await connect(token)
    expect(client.getServerVersion()).toMatchObject({ name: 'waymark' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('measure_funnel')
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
    expect(await ask(client, 'get_project')).toMatchObject({ id: projectId })
    const now = Date.now()
    const range = { from: new Date(now - HOUR_MS).toISOString(), to: new Date(now).toISOString() }
    const series = [{ eventName: 'seen', metric: 'people' }]
    expect(await ask(client, 'measure_trends', { series, ...range, interval: 'hour' })).toMatchObject({
      series: [{ total: 0 }],
    })
  })

  it('changes a project only when that is asked for, and notes it in the audit log', async () => {
    const decision = {
      key: 'from-mcp',
      variants: [{ key: 'on', value: true }],
      fallbackVariant: 'on',
      rules: [],
    }
    expect(await call(await connect(token), 'create_decision', decision)).toMatchObject({
      isError: true,
      content: [{ text: 'There is no tool create_decision' }],
    })
    const writer = await connect(token, '?writes=true')
    expect(await ask(writer, 'create_decision', decision)).toMatchObject({ status: 'draft' })
    expect(await ask(writer, 'get_decision', { key: 'from-mcp' })).toMatchObject({ key: 'from-mcp' })
    const log = await owner.request('GET', `/api/projects/${projectId}/audit-log`)
    expect(JSON.stringify(await log.json())).toContain('createDecision')
  })

  it('has the permissions of its token', async () => {
    const viewer = await management.member(projectId, 'viewer')
    const client = await connect(await tokenOf(viewer), `?writes=true&projectId=${projectId}`)
    expect(await ask(client, 'list_decisions')).toMatchObject({ data: expect.any(Array) })
    expect(await call(client, 'pause_decision', { key: 'from-mcp' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('answered 403') }],
    })
    const stranger = await management.register()
    const foreign = await connect(await tokenOf(stranger), `?projectId=${projectId}`)
    expect(await call(foreign, 'list_decisions')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('answered 404') }],
    })
  })

  it('needs a project when its token reaches several', async () => {
    const several = await management.register()
    const second = await several.request('POST', '/api/projects', { name: 'Second' })
    const { id } = (await second.json()) as { id: string }
    const ofSeveral = await tokenOf(several)
    await expect(connect(ofSeveral)).rejects.toThrow(
      'projectId is required: the token reaches several projects',
    )
    expect(await ask(await connect(ofSeveral, `?projectId=${id}`), 'get_project')).toMatchObject({ id })
  })

  it('refuses callers without a token before it reads what they send', async () => {
    await expect(connect('wm_pat_nonsense')).rejects.toThrow()
    expect((await post('{', {})).status).toBe(401)
    const ofPage = await owner.request('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' })
    expect([ofPage.status, await ofPage.json()]).toEqual([
      403,
      { error: 'Send a personal access token as Authorization: Bearer' },
    ])
    expect((await fetch(`${management.url}/mcp`)).status).toBe(405)
  })

  it.each([
    ['{', 400],
    ['"text"', 422],
    ['[]', 422],
    ['{}', 400],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400],
    [JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(300 * 1024) }), 413],
    ['{"jsonrpc":"2.0","method":"notifications/nonsense"}', 202],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 200],
  ])('answers nonsense with a status: %.40s', async (body, status) => {
    const response = await post(body)
    expect(response.status).toBe(status)
    if (status >= 400) expect(await response.json()).toMatchObject({ error: expect.any(String) })
  })

  it.each([
    ['drop_table', {}, 'There is no tool drop_table'],
    ['get_decision', { key: '' }, 'key must be a text'],
    ['get_decision', { key: '..' }, 'key must be a text'],
    ['get_decision', { key: '../../members' }, 'answered 404'],
    ['list_events', { limit: 101 }, 'limit must be at most 100, not 101'],
    ['list_events', { filters: { a: 1 } }, 'filters'],
    ['measure_funnel', { steps: 'x', from: 1, to: null, windowSeconds: -1 }, 'steps'],
  ])('refuses nonsense with a reason: %s %j', async (name, args, message) => {
    expect(await call(await connect(token), name, args)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(message) }],
    })
  })

  it('answers a method that does not exist with an error of the protocol', async () => {
    const response = await post('{"jsonrpc":"2.0","id":7,"method":"nonsense/call"}')
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32601 } })
  })
})
