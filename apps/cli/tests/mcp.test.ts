import { spawn } from 'node:child_process'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { createClient } from '@waymark/client'
import { type Constellation, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMcpServer } from '../src/mcp/server.ts'
import { createRunner, toServer } from './run.ts'

let waymark: Constellation
let reader: McpClient
let writer: McpClient
let stranger: McpClient
const { json } = createRunner(
  () => waymark,
  () => '/nowhere',
)

/** A client of a server in this process. */
const connect = async (token: string, writes: boolean): Promise<McpClient> => {
  const client = createClient({
    baseUrl: 'http://waymark.test',
    token,
    fetch: (request) => toServer(waymark, request),
  })
  const server = createMcpServer({ client, projectId: waymark.projectId, version: '0', writes })
  const [near, far] = InMemoryTransport.createLinkedPair()
  const connected = new McpClient({ name: 'test', version: '0' })
  await Promise.all([server.connect(far), connected.connect(near)])
  return connected
}
type Result = { isError?: boolean; content: { text: string }[] }
const call = async (client: McpClient, name: string, args?: Record<string, unknown>): Promise<Result> =>
  (await client.callTool({ name, arguments: args })) as Result
/** The JSON of an answer. */
const ask = async (client: McpClient, name: string, args?: Record<string, unknown>) => {
  const { isError, content } = await call(client, name, args)
  if (isError) throw new Error(content[0]?.text)
  return JSON.parse(content[0]?.text ?? '')
}

beforeAll(async () => {
  waymark = await startStandalone()
  reader = await connect(waymark.apiKey, false)
  writer = await connect(waymark.apiKey, true)
  stranger = await connect('wm_sec_nonsense', true)
  for (const [name, user] of [
    ['seen', 'ann'],
    ['seen', 'bob'],
    ['bought', 'ann'],
  ] as const)
    await json(['events', 'send', name, '--user', user, '-p', 'total=1', '--sync'])
})
afterAll(async () => {
  await Promise.all([reader, writer, stranger].map((client) => client?.close()))
  await waymark?.stop()
})

describe('an assistant', () => {
  const range = () => {
    const now = Date.now()
    const day = 24 * 60 * 60 * 1_000
    return { from: new Date(now - day).toISOString(), to: new Date(now + day).toISOString() }
  }

  it('finds tools with a schema for each', async () => {
    const { tools } = await reader.listTools()
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['measure_funnel', 'preview_decision']),
    )
    expect(tools.map(({ name }) => name)).not.toContain('create_decision')
    expect(tools.find(({ name }) => name === 'measure_funnel')).toMatchObject({
      inputSchema: { required: expect.arrayContaining(['steps', 'from', 'to', 'windowSeconds']) },
      annotations: { readOnlyHint: true },
    })
  })

  it('asks analytics', async () => {
    const steps = [{ eventName: 'seen' }, { eventName: 'bought' }]
    const funnel = await ask(reader, 'measure_funnel', { steps, ...range(), windowSeconds: 3_600 })
    expect(funnel.steps).toMatchObject([{ people: 2 }, { people: 1 }])
    const trends = await ask(reader, 'measure_trends', {
      series: [{ eventName: 'seen', metric: 'people' }],
      ...range(),
      interval: 'day',
    })
    expect(trends.series).toMatchObject([{ total: 2 }])
    expect(await ask(reader, 'list_events', { eventName: 'bought', limit: 5 })).toMatchObject({
      data: [{ userId: 'ann' }],
    })
  })

  it('creates a decision, turns it on, and has it explained', async () => {
    const decision = {
      key: 'from-mcp',
      variants: [
        { key: 'on', value: true },
        { key: 'off', value: false },
      ],
      fallbackVariant: 'off',
      rules: [{ variant: 'on' }],
    }
    expect(await ask(writer, 'create_decision', decision)).toMatchObject({ status: 'draft' })
    expect(await ask(writer, 'activate_decision', { key: 'from-mcp' })).toMatchObject({ status: 'active' })
    expect(await ask(reader, 'preview_decision', { key: 'from-mcp', userId: 'ann' })).toMatchObject({
      answer: { variant: 'on' },
    })
  })

  it('has the permissions of its token', async () => {
    expect(await call(stranger, 'list_events')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('answered 401') }],
    })
  })
})

describe('nonsense', () => {
  it.each([
    ['drop_table', {}, 'There is no tool drop_table'],
    ['create_decision', {}, 'There is no tool create_decision'],
    ['get_decision', {}, 'Missing argument key'],
    ['get_decision', { key: 7 }, 'key must be a text'],
    ['get_decision', { key: '' }, 'key must be a text'],
    ['get_decision', { key: '..' }, 'key must be a text'],
    ['get_decision', { key: '../api-keys' }, 'answered 404'],
    ['list_events', { projectId: 'another' }, 'Unknown argument projectId'],
    ['list_events', { limit: 101 }, 'limit must be at most 100, not 101'],
    ['list_events', { limit: 'all' }, 'limit must be at most 100, not "all"'],
    ['list_events', { limit: 0 }, 'limit'],
    ['list_events', { filters: 'nonsense' }, 'filters'],
    ['measure_funnel', { steps: 'x', from: 1, to: null, windowSeconds: -1 }, 'steps'],
    ['measure_trends', { series: [], from: 'x', to: 'y', interval: 'z' }, 'series'],
    ['measure_trends', { __proto__: null, constructor: 1 }, 'Unknown argument constructor'],
  ])('is refused with a reason: %s %j', async (name, args, message) => {
    expect(await call(reader, name, args)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(message) }],
    })
  })

  it('does not end the server', async () => {
    await expect(reader.request({ method: 'nonsense/call' } as never, {} as never)).rejects.toThrow()
    expect(await ask(reader, 'list_environments')).toMatchObject({ environments: { length: 2 } })
  })
})

describe('waymark mcp', () => {
  let proxy: HttpServer
  let env: Record<string, string>
  const main = path.join(import.meta.dirname, '../src/main.ts')
  beforeAll(async () => {
    // The command knows an address, and the test only how to send requests.
    proxy = createServer((request, response) => {
      void text(request)
        .then((body) =>
          waymark.request(request.url ?? '/', {
            method: request.method ?? 'GET',
            headers: { Authorization: request.headers.authorization ?? '', 'X-API-Key': '' },
            ...(body !== '' && { body }),
          }),
        )
        .then(async (answer) => response.writeHead(answer.status).end(await answer.text()))
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const { port } = proxy.address() as AddressInfo
    env = {
      WAYMARK_URL: `http://127.0.0.1:${port}`,
      WAYMARK_TOKEN: waymark.apiKey,
      WAYMARK_PROJECT: waymark.projectId,
    }
  })
  afterAll(() => proxy?.close())

  it('serves the official client over standard input and output', async () => {
    const transport = new StdioClientTransport({ command: process.execPath, args: [main, 'mcp'], env })
    const client = new McpClient({ name: 'test', version: '0' })
    await client.connect(transport)
    expect(client.getServerVersion()).toMatchObject({ name: 'waymark', version: '0.1.0' })
    expect(await ask(client, 'get_project')).toMatchObject({ id: waymark.projectId })
    await client.close()
  })

  it('survives lines that are no JSON, and ends with its input', async () => {
    const child = spawn(process.execPath, [main, 'mcp'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const answered = text(child.stdout)
    child.stdin.write('nonsense\n{"jsonrpc":"1.0"}\n[]\n')
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    child.stdin.end()
    expect(await ended).toBe(0)
    expect(
      (await answered)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toContainEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {},
    })
  })
})
