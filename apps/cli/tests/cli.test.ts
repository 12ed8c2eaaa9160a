import { stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRunner, createToken, temporaryFolder, toServer } from './run.ts'

let waymark: Constellation
let token: string
let folder: string
let remove: () => Promise<void>
const { run, json } = createRunner(
  () => waymark,
  () => folder,
)
const resource = (name: string) => `/api/projects/${waymark.projectId}/${name}`
const post = async (name: string, body: unknown): Promise<Record<string, unknown>> => {
  const response = await waymark.request(resource(name), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, unknown>
}

beforeAll(async () => {
  ;({ folder, remove } = await temporaryFolder())
  const started = await startStandalone()
  waymark = started
  token = await createToken(waymark, started)
})
afterAll(async () => {
  await waymark?.stop()
  await remove?.()
})

describe('signing in', () => {
  // Without the token and project of the environment.
  const kept = { token: '', env: { WAYMARK_PROJECT: '' } }

  it('keeps a token that only its owner can read, and finds the only project', async () => {
    const { code, out, err } = await run(['login'], { ...kept, stdin: `${token}\n` })
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('demo@waymark.localhost') })
    expect(err).toContain('http://waymark.test/console/account')
    const { mode } = await stat(path.join(folder, 'config/waymark/credentials.json'))
    expect((mode & 0o777).toString(8)).toBe('600')
    expect(await json(['projects'], kept)).toMatchObject([{ id: waymark.projectId, role: 'owner' }])
    expect(await json(['flags', 'list'], kept)).toEqual([])
  })

  it('sends the token to no other address', async () => {
    const { code, err } = await run(['projects', '--url', 'http://other.test'], kept)
    expect({ code, err }).toEqual({
      code: 3,
      err: 'No token for http://other.test: run `waymark login` or set WAYMARK_TOKEN\n',
    })
  })

  it('forgets the token', async () => {
    expect((await run(['logout'], kept)).code).toBe(0)
    expect((await run(['projects'], kept)).code).toBe(3)
  })

  it('refuses what is no personal access token, and one that is not valid', async () => {
    expect(await run(['login'], { ...kept, stdin: 'wm_sec_key' })).toMatchObject({ code: 2 })
    expect(await run(['login'], { ...kept, stdin: 'wm_pat_nonsense' })).toMatchObject({
      code: 3,
      err: expect.stringContaining('401'),
    })
  })
})

describe('events', () => {
  it('sends one with properties of any type', async () => {
    const args = [
      'events',
      'send',
      'cli_event',
      '--user',
      'ann',
      '-p',
      'total=4990',
      '-p',
      'plan=pro',
      '--sync',
    ]
    expect(await json(args)).toEqual({ accepted: 1, failed: 0, problems: expect.anything() })
    const stored = await waymark.request(resource('events?eventName=cli_event'))
    expect(await stored.json()).toMatchObject({
      data: [{ userId: 'ann', properties: { total: 4_990, plan: 'pro' } }],
    })
  })

  it('sends those of a file, and names the line that is not JSON', async () => {
    const lines = Array.from({ length: 101 }, (_, index) =>
      JSON.stringify({ eventName: 'from_file', userId: `u-${index}` }),
    )
    await writeFile(path.join(folder, 'events.jsonl'), `${lines.join('\n')}\n\n`)
    expect(await json(['events', 'send', '--file', 'events.jsonl'])).toMatchObject({ accepted: 101 })
    const broken = await run(['events', 'send', '--file', '-'], { stdin: '{}\nnonsense' })
    expect(broken).toMatchObject({ code: 2, err: 'Line 2 is not JSON: nonsense\n' })
  })

  it('ends with 5 when events are refused', async () => {
    const send = (stdin: string) => run(['events', 'send', '--file', '-'], { stdin })
    const invalid = '{"userId":"ann"}\n'
    expect(await send(invalid)).toMatchObject({
      code: 5,
      out: expect.stringMatching(/^0 accepted, 1 refused\n.*eventName is required/),
    })
    expect(await send(`{"eventName":"valid","userId":"ann"}\n${invalid}`)).toMatchObject({
      code: 5,
      out: expect.stringMatching(/^1 accepted, 1 refused\n.*"index":1.*eventName is required/),
    })
  })

  it('are followed until enough have come', async () => {
    const following = new AbortController()
    const tail = run(['events', 'tail', '--event', 'followed', '--count', '2', '--json'], {
      signal: following.signal,
      fetch: async (request) => {
        const response = await toServer(waymark, request)
        if (request.url.includes('/stream')) {
          // The stream is open now.
          await json(['events', 'send', 'not_followed', '--user', 'ann'])
          for (const user of ['ann', 'bob']) await json(['events', 'send', 'followed', '--user', user])
        }
        return response
      },
    })
    const { code, out } = await tail
    expect(code).toBe(0)
    const seen = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(seen.map(({ eventName }) => eventName)).toEqual(['followed', 'followed'])
    expect(seen.map(({ userId }) => userId).sort()).toEqual(['ann', 'bob'])
  })

  it('end quietly when the user interrupts', async () => {
    const following = new AbortController()
    const { code, err } = await run(['events', 'tail'], {
      signal: following.signal,
      fetch: async (request) => {
        const response = await toServer(waymark, request)
        following.abort()
        return response
      },
    })
    expect({ code, err }).toEqual({ code: 0, err: 'Waiting for events. Press Ctrl+C to end.\n' })
  })
})

describe('queries', () => {
  beforeAll(async () => {
    for (const [name, user] of [
      ['seen', 'q1'],
      ['seen', 'q2'],
      ['bought', 'q1'],
    ] as const)
      await json(['events', 'send', name, '--user', user, '--sync'])
  })

  it('print trends as a table or CSV', async () => {
    const args = ['query', 'trends', '--event', 'seen', '--event', 'bought', '--from', '1d']
    const { out, code } = await run([...args, '--csv'])
    expect(code).toBe(0)
    const [header, ...rows] = out.trimEnd().split('\r\n')
    expect(header).toBe('at,seen,bought')
    const sums = rows.map((row) => row.split(',').slice(1).map(Number))
    expect([0, 1].map((column) => sums.reduce((sum, row) => sum + (row[column] ?? 0), 0))).toEqual([2, 1])
    expect((await run(args)).out).toMatch(/^at +seen +bought\n/)
  })

  it('print funnels', async () => {
    const { steps } = await json<{ steps: unknown }>(['query', 'funnel', 'seen', 'bought', '--from', '1d'])
    expect(steps).toMatchObject([{ people: 2 }, { people: 1, rateFromFirst: 0.5 }])
    expect((await run(['query', 'funnel', 'seen', 'bought'])).out).toMatch(/ 1 +seen +2 +1/)
  })

  it.each([
    [['query', 'trends', '--from', 'yesterday'], '--from must be a time'],
    [['query', 'funnel', 'seen', 'bought', '--window', '7'], '--window must be a number with'],
    [['query', 'funnel', 'seen'], 'at least two events'],
    [['events', 'tail', '--count', '0'], '--count must be an integer from 1'],
    [['events', 'send', 'a', '-p', '=1'], '--property must be name=value'],
    [['events', 'send'], 'Give the name of an event, or --file'],
    [['events', 'send', 'a', '--properties', '[]'], '--properties must be a JSON object'],
    [['flags', 'list', '--json', '--csv'], 'Choose one of --json and --csv'],
    [['keys', 'create', 'A', '--kind', 'other'], '--kind must be sec or pub'],
    [['keys', 'create', 'A', '--requests-per-minute', '0'], '--requests-per-minute must be'],
    [['nonsense'], "unknown command 'nonsense'"],
    [['flags', 'get'], "missing required argument 'key'"],
    [['coupons', 'import', 'A', 'missing.csv'], 'Cannot read'],
    [['completion', 'tcsh'], 'There is a completion for bash, zsh, fish'],
  ])('%j are wrong arguments', async (args, message) => {
    expect(await run(args)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })

  it('show what the API refuses, by field', async () => {
    const { code, err } = await run(['query', 'trends', '--metric', 'sum', '--event', 'seen'])
    expect({ code, err }).toMatchObject({
      code: 5,
      err: expect.stringMatching(/answered 422.*\n {2}series/s),
    })
  })
})

describe('flags', () => {
  beforeAll(async () => {
    await post('decisions', {
      key: 'button',
      variants: [{ key: 'old', value: 'grey' }],
      fallbackVariant: 'old',
      rules: [],
      environments: { staging: { status: 'paused' } },
    })
  })

  it('are turned on and off, by environment', async () => {
    expect(await json(['flags', 'on', 'button'])).toMatchObject({ status: 'active' })
    expect((await run(['flags', 'on', 'button', '--env', 'staging'])).out).toContain(
      'button is on in staging',
    )
    expect(await json(['flags', 'get', 'button'])).toMatchObject({
      environments: { staging: { status: 'active' } },
    })
    expect(await json(['flags', 'off', 'button'])).toMatchObject({ status: 'paused' })
    expect((await run(['flags', 'list', '--env', 'staging', '--csv'])).out).toMatch(/\r\nbutton,active,/)
  })

  it('are replayed on stored events, as they are and with a change from a file', async () => {
    const replay = (...more: string[]) =>
      run(['flags', 'backtest', 'button', '--event', 'never', '--days', '1', ...more])
    const { code, out, err } = await replay()
    expect([code, out]).toEqual([0, expect.stringMatching(/^variant +people +evaluations\nold +0 +0\n$/)])
    expect(err).toContain('0 people')
    expect(err).toContain('Not known: Requests for decisions are not stored')
    const change = path.join(folder, 'change.json')
    const variants = [
      { key: 'old', value: 'grey' },
      { key: 'new', value: 'green' },
    ]
    await writeFile(change, JSON.stringify({ variants }))
    expect((await replay('--change', change)).out).toMatch(/^new +0 +0$/m)
    await writeFile(change, '[]')
    expect(await replay('--change', change)).toMatchObject({
      code: 2,
      err: expect.stringContaining('no JSON object'),
    })
  })

  it('that do not exist end with 4', async () => {
    expect(await run(['flags', 'on', 'unknown'])).toMatchObject({ code: 4 })
  })
})

it('creates links', async () => {
  const { out, code } = await run([
    'links',
    'create',
    'https://shop.example/',
    '--code',
    'from-cli',
    '--tag',
    'a',
  ])
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/\/s\/from-cli\n$/) })
})

it('lists alerts and their history, and mutes them', async () => {
  await post('alerts', {
    name: 'Few visits',
    measure: { web: { figure: 'visits' } },
    condition: { type: 'below', value: 1 },
    interval: 'day',
  })
  expect(await json(['alerts', 'list'])).toMatchObject([{ name: 'Few visits', mutedUntil: null }])
  const until = '2100-01-01T00:00:00.000Z'
  expect(await json(['alerts', 'mute', 'Few visits', '--until', until])).toMatchObject({ mutedUntil: until })
  expect((await run(['alerts', 'unmute', 'Few visits'])).out).toBe('Few visits is not muted any more\n')
  expect(await json(['alerts', 'history', 'Few visits', '--changes'])).toBeInstanceOf(Array)
  expect(await run(['alerts', 'mute', 'Other', '--until', until])).toMatchObject({ code: 4 })
})

it('notes what happened, now or at a time', async () => {
  expect(await json(['annotate', 'Deployed 1.4.0'])).toMatchObject({ kind: 'note', text: 'Deployed 1.4.0' })
  expect(await json(['annotate', 'Sale', '--at', '2026-01-01T09:00:00+01:00'])).toMatchObject({
    at: '2026-01-01T08:00:00.000Z',
  })
  expect(await run(['annotate', 'Sale', '--at', 'then'])).toMatchObject({ code: 5 })
})

it('imports coupons into a pool by its name, and reports what is wrong', async () => {
  await post('coupon-pools', { name: 'Imported', kind: 'unique', discount: { type: 'percent', value: 10 } })
  await writeFile(path.join(folder, 'codes.csv'), 'code\nAAAA-BBBB-CCCC\nDDDD-EEEE-FFFF\n')
  expect(await json(['coupons', 'import', 'Imported', 'codes.csv'])).toMatchObject({
    imported: 2,
    duplicates: 0,
  })
  const again = await run(['coupons', 'import', 'Imported', '-'], { stdin: 'code\nAAAA-BBBB-CCCC\n?\n' })
  expect(again).toMatchObject({
    code: 5,
    out: expect.stringContaining('0 imported, 1 duplicates, 1 invalid'),
  })
  expect(await run(['coupons', 'import', 'Unknown', 'codes.csv'])).toMatchObject({ code: 4 })
})

it('shows gift cards, and tops up, refunds and transfers them', async () => {
  await post('coupon-pools', { name: 'Gifts', kind: 'balance', amount: 5_000, currency: 'EUR' })
  await writeFile(path.join(folder, 'gifts.csv'), 'code,balance\nGIFT-1,50.00\nGIFT-2,0.50\nGIFT-10,1\n')
  expect(await json(['coupons', 'import', 'Gifts', 'gifts.csv'])).toMatchObject({ imported: 3 })
  const order = { code: 'GIFT-1', orderId: 'order-1', currency: 'EUR', amount: 2_005 }
  const paid = await waymark.request('/api/v1/coupons/redeem', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(order),
  })
  expect(paid.status).toBe(200)

  const holding = (amount: number) => ({ balance: { amount, currency: 'EUR' } })
  expect(await json(['gift-cards', 'show', 'gift 1'])).toMatchObject({ code: 'GIFT-1', ...holding(2_995) })
  const topUp = ['gift-cards', 'top-up', 'GIFT-1', '10.5', '--key', 'cli-1', '--reason', 'Sorry']
  expect(await json(topUp)).toMatchObject(holding(4_045))
  expect(await run(topUp)).toMatchObject({ code: 0, out: 'GIFT-1 holds 40.45 EUR\n' })
  expect(await json(['gift-cards', 'refund', 'GIFT-1', 'order-1', '--amount', '20'])).toMatchObject(
    holding(6_045),
  )
  expect(await json(['gift-cards', 'refund', 'GIFT-1', 'order-1'])).toMatchObject(holding(6_050))
  expect(await json(['gift-cards', 'transfer', 'GIFT-1', 'GIFT-2', '--amount', '0.50'])).toMatchObject(
    holding(6_000),
  )
  expect(await json(['gift-cards', 'transfer', 'GIFT-1', 'GIFT-2'])).toMatchObject(holding(0))
  expect((await run(['gift-cards', 'movements', '--card', 'GIFT-1', '--csv'])).out).toContain(',refunded,')
  expect((await run(['gift-cards', 'movements', '--order', 'order-1'])).out).toMatch(/spent +-20\.05 +EUR/)
  const ledger = await run(['gift-cards', 'ledger', 'Gifts', '--csv'])
  expect(ledger.out).toContain('balance,62.00,EUR\r\n')
})

it.each([
  [['show', 'GIFT-3'], 4, 'There is no coupon GIFT-3'],
  [['show', 'AAAA-BBBB-CCCC'], 2, 'AAAA-BBBB-CCCC is no gift card'],
  [['top-up', 'GIFT-2', '1.005'], 2, '1.005 is no amount of EUR'],
  [['transfer', 'GIFT-1', 'GIFT-2', '--amount', '0.01'], 5, 'holds 0'],
])('ends gift-cards %j with %d', async (args, code, err) => {
  expect(await run(['gift-cards', ...args])).toMatchObject({ code, err: expect.stringContaining(err) })
})

it('shows the points of people, and adds, takes and reverses them', async () => {
  await post('loyalty-programmes', { key: 'club', name: 'Club', expiryMonths: 12 })
  const adjust = ['loyalty', 'adjust', 'club', '--user', 'ann', '--points', '70', '--key', 'cli-1']
  expect(await json(adjust)).toMatchObject({ balance: 70 })
  expect(await json(adjust)).toMatchObject({ balance: 70 })
  const taken = ['loyalty', 'adjust', 'club', '--user', 'ann', '--points=-20', '--reason', 'Sorry']
  expect(await json(taken)).toMatchObject({ balance: 50, nextExpiry: { points: 50 } })
  expect((await run(['loyalty', 'show', 'club', '--user', 'ann', '--csv'])).out).toContain('\r\n50,0,,50,')
  expect((await run(['loyalty', 'movements', 'club', '--user', 'ann'])).out).toMatch(/adjusted +-20 .*Sorry/)
  expect((await run(['loyalty', 'ledger', 'club', '--csv'])).out).toContain('balance,50\r\n')
  expect(await json(['loyalty', 'reverse', 'order-1'])).toEqual({ programmes: [] })
})

it.each([
  [['show', 'no-such', '--user', 'ann'], 4, 'Not found'],
  [['adjust', 'club', '--user', 'ann', '--points', 'many'], 2, 'many is no number of points'],
  [['adjust', 'club', '--user', 'ann', '--points=-51'], 5, 'fewer points'],
])('ends loyalty %j with %d', async (args, code, err) => {
  expect(await run(['loyalty', ...args])).toMatchObject({ code, err: expect.stringContaining(err) })
})

describe('keys', () => {
  it('of servers get a limit by default', async () => {
    expect(await json(['keys', 'create', 'Server'])).toMatchObject({ kind: 'sec', requestsPerMinute: 6_000 })
    expect(await json(['keys', 'create', 'Server', '--requests-per-minute', 'none'])).toMatchObject({
      requestsPerMinute: null,
    })
    const { out } = await run(['keys', 'create', 'Page', '--kind', 'pub', '--origin', 'https://shop.example'])
    expect(out).toMatch(/^wm_pub_\S+\n$/)
  })

  it('are not created with a token', async () => {
    expect(await run(['keys', 'create', 'Server'], { token })).toMatchObject({ code: 3 })
  })
})

describe('doctor', () => {
  type Findings = { findings: { check: string; status: string; message: string }[] }
  const found = async (options = {}): Promise<{ code: number; statuses: Record<string, string> }> => {
    const { code, out } = await run(['doctor', '--json'], options)
    const { findings } = JSON.parse(out) as Findings
    return { code, statuses: Object.fromEntries(findings.map(({ check, status }) => [check, status])) }
  }

  it('finds nothing wrong with a new installation', async () => {
    const { code, statuses } = await found()
    expect(code).toBe(0)
    expect(statuses).toMatchObject({ address: 'ok', readiness: 'ok', clock: 'ok', token: 'ok' })
    expect(Object.keys(statuses)).toEqual(['address', 'readiness', 'clock', 'token', 'pipeline', 'keys'])
  })

  it('finds a wrong token, a wrong clock and what is not Waymark', async () => {
    expect(await found({ token: 'wm_sec_wrong' })).toMatchObject({ code: 7, statuses: { token: 'problem' } })
    const answering = (text: string, headers = {}) => ({ fetch: async () => new Response(text, { headers }) })
    expect(await found(answering('<html>'))).toEqual({ code: 7, statuses: { address: 'problem' } })
    const old = { Date: 'Fri, 01 Jan 2021 00:00:00 GMT' }
    expect(await found(answering('{"name":"Waymark","version":"9.9.9","apps":[]}', old))).toMatchObject({
      code: 7,
      statuses: { address: 'warning', clock: 'problem' },
    })
  })

  it('finds that nothing answers', async () => {
    const fetch = async () => {
      throw new TypeError('fetch failed')
    }
    expect(await found({ fetch })).toEqual({ code: 7, statuses: { address: 'problem' } })
  })
})

it('completes commands', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await run(['completion', shell])
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining('list get backtest refs on off'),
    })
    expect(out).toContain('show movements ledger top-up refund transfer')
  }
})

it('shows its help and version', async () => {
  expect(await run(['--version'])).toMatchObject({ code: 0, out: '0.1.0\n' })
  expect(await run(['flags', '--help'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('list [options]'),
  })
})

describe('erasures of people', () => {
  it('have a certificate that is refused once it is changed, by another key, and for another person', async () => {
    await json(['events', 'send', 'seen', '--user', 'to-erase', '--visitor', 'their-browser', '--sync'])
    const { data } = (await (await waymark.request(resource('profiles?userId=to-erase'))).json()) as {
      data: { id: string }[]
    }
    await waymark.request(resource(`profiles/${data[0]?.id}`), { method: 'DELETE' })
    const [erasure] = await eventually('everything is removed', async () => {
      const erasures = await json<{ id: string; isComplete: boolean }[]>(['erasures'])
      return erasures.every(({ isComplete }) => isComplete) && erasures
    })
    // The record of an event that arrives late erases it as well, without being counted.
    expect(erasure).toMatchObject({ removed: { profiles: 1, identities: 1 } })
    const { out } = await run(['erasures', 'certificate', `${erasure?.id}`])
    const file = path.join(folder, 'certificate.json')
    await writeFile(file, out)
    const verify = (...args: string[]) => run(['verify-erasure', 'certificate.json', ...args])
    expect(await verify('--user', 'to-erase')).toMatchObject({
      code: 0,
      out: expect.stringContaining('The signature is valid.'),
    })
    expect(await verify('--user', 'somebody-else')).toMatchObject({
      code: 7,
      err: 'The certificate is not about user somebody-else\n',
    })
    const { publicKey, certificate, signed } = JSON.parse(out)
    // Without the server.
    expect(await verify('--key', publicKey.x)).toMatchObject({ code: 0 })
    expect(await verify('--key', 'A'.repeat(43))).toMatchObject({ code: 7 })
    await writeFile(
      file,
      JSON.stringify({ signed, certificate: { ...certificate, removed: { profiles: 2 } } }),
    )
    expect(await verify()).toMatchObject({ code: 7, err: expect.stringContaining('differs') })
    const [header, payload, signature] = signed.split('.')
    const changed = Buffer.from(payload, 'base64url').toString().replace('"profiles":1', '"profiles":9')
    await writeFile(file, [header, Buffer.from(changed).toString('base64url'), signature].join('.'))
    expect(await verify()).toMatchObject({
      code: 7,
      err: 'The certificate was changed, or signed with another key\n',
    })
  })
})
