import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { maskedUrl } from '@waymark/contracts/masked-url'
import { type Constellation, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createRunner, createToken, temporaryFolder, toServer } from './run.ts'

type Fields = Record<string, unknown>
type Change = { action: string; kind: string; name: string; fields: { field: string }[] }
type Plan = { changes: Change[]; unmanaged: string[]; applied?: number }
type Proposals = Plan & { proposals: { id: string; decision: string; revision: number }[] }

let waymark: Constellation
let token: string
let folder: string
let remove: () => Promise<void>
let counter = 0
// biome-ignore lint/suspicious/noTemplateCurlyInString: files contain it like this
const REFERENCE = '${env:HOOK_KEY}'
const { run, json } = createRunner(
  () => waymark,
  () => folder,
)
/** Runs the command with a token in a project. */
const at = (projectId: string, env: Record<string, string> = {}) => ({
  token,
  env: { WAYMARK_PROJECT: projectId, ...env },
})
const call = async (method: string, where: string, body?: unknown): Promise<Fields> => {
  const request = new Request(`http://waymark.test${where}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const response = await toServer(waymark, request)
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${where} answered ${response.status}: ${text}`)
  return text === '' ? {} : JSON.parse(text)
}
const createProject = async (): Promise<string> =>
  String((await call('POST', '/api/projects', { name: `Project ${++counter}` })).id)
const manage = (projectId: string) => (method: string, resource: string, body?: unknown) =>
  call(method, `/api/projects/${projectId}/${resource}`, body)
const file = (name: string): string => path.join(folder, 'waymark', name)
const write = async (name: string, text: string): Promise<void> => {
  await mkdir(path.dirname(file(name)), { recursive: true })
  await writeFile(file(name), text)
}
const read = (name: string): Promise<string> => readFile(file(name), 'utf8')
const shown = ({ changes }: Plan) => changes.map(({ action, kind, name }) => `${action} ${kind}/${name}`)

/** Fills a project with something of every kind, with all that they may have. */
const fill = async (projectId: string): Promise<void> => {
  const create = manage(projectId)
  await create('POST', 'environments', { key: 'preview', name: 'Preview' })
  await create('POST', 'event-definitions', {
    name: 'order_placed',
    description: 'An order',
    schema: { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] },
  })
  await create('POST', 'event-definitions', { name: 'page: view/№ 1', schema: {} })
  const selector = await create('POST', 'metering-selectors', {
    eventName: 'order_placed',
    filter: { '>': [{ var: 'properties.total' }, 0] },
    amountProperty: 'total',
  })
  await create('POST', 'metering-selectors', { eventName: 'order_placed' })
  await create('POST', 'metering-selectors', { eventName: 'order_placed', amountProperty: 'total' })
  const pool = await create('POST', 'coupon-pools', {
    name: 'Summer',
    kind: 'unique',
    size: 3,
    prefix: 'SUN',
    discount: { type: 'percent', value: 10, maxAmount: 500, currency: 'EUR' },
    startsAt: '2026-06-01T00:00:00.000Z',
    perProfileLimit: 1,
    rules: { minimumAmount: 1_000, excludedSkus: ['gift'] },
    stackable: true,
    budgetAmount: { amount: 100_000, currency: 'EUR' },
  })
  await create('POST', 'coupon-pools', {
    name: 'Welcome',
    kind: 'shared',
    code: 'WELCOME',
    discount: { type: 'free_shipping' },
  })
  await create('POST', 'coupon-pools', {
    name: 'Ten off',
    kind: 'automatic',
    priority: 3,
    discount: { type: 'percent', value: 10 },
  })
  const archived = await create('POST', 'coupon-pools', {
    name: 'Archived',
    kind: 'shared',
    discount: { type: 'free_shipping' },
  })
  await create('DELETE', `coupon-pools/${archived.id}`)
  await create('POST', 'segments', {
    key: 'pro',
    name: 'Pro',
    condition: {
      match: 'any',
      filters: [{ property: 'traits.plan', op: 'eq', value: 'pro' }],
      counts: [{ eventName: 'order_placed', days: 30, op: 'gte', value: 2 }],
    },
  })
  await create('POST', 'loyalty-programmes', {
    key: 'club',
    name: 'Club',
    rules: [{ selectorId: selector.id, points: 1, perAmount: 100, currency: 'EUR' }],
    expiryMonths: 24,
    spending: { points: 100, amount: 100, currency: 'EUR' },
    tiers: [{ key: 'pro', name: 'Pro', points: 1_000 }],
  })
  await create('POST', 'link-domains', {
    host: `go-${projectId.slice(-12)}.shop.example`,
    rootUrl: 'https://shop.example/',
    appleAppSiteAssociation: { applinks: { apps: [] } },
  })
  await create('POST', 'email-triggers', {
    name: 'Thanks',
    eventName: 'order_placed',
    subject: 'Thank you, {{traits.name}}',
    html: '<p>Thank you</p>\n<p>for your order</p>',
    filter: { '>': [{ var: 'properties.total' }, 0] },
    cooldownSeconds: 60,
    status: 'active',
  })
  const insight = await create('POST', 'insights', {
    name: 'Orders',
    kind: 'trends',
    query: { series: [{ eventName: 'order_placed', metric: 'events' }], interval: 'day' },
  })
  const funnel = await create('POST', 'insights', {
    name: 'Funnel',
    kind: 'funnel',
    query: { steps: [{ eventName: 'page_view' }, { eventName: 'order_placed' }], windowSeconds: 3_600 },
  })
  await create('POST', 'alerts', {
    name: 'Few orders',
    measure: { insightId: insight.id },
    condition: { type: 'unusual', direction: 'down' },
    interval: 'hour',
    emailRoles: ['owner'],
  })
  const dashboard = await create('POST', 'dashboards', {
    name: 'Overview',
    insightIds: [funnel.id, insight.id],
  })
  await create('POST', 'subscriptions', {
    name: 'Every Monday',
    dashboardId: dashboard.id,
    frequency: 'week',
    emailRoles: ['owner'],
  })
  // It is required by one whose key comes before it.
  await create('POST', 'decisions', {
    key: 'z-base',
    status: 'active',
    variants: [{ key: 'on', value: null }],
    fallbackVariant: 'on',
    rules: [],
  })
  await create('POST', 'decisions', {
    key: 'button',
    name: 'Button',
    status: 'active',
    variants: [
      { key: 'old', value: { color: 'grey', border: null } },
      { key: 'new', value: 'red', couponPoolId: pool.id },
    ],
    fallbackVariant: 'old',
    rules: [
      {
        description: 'Pros',
        condition: { segment: 'pro' },
        prerequisites: [{ decision: 'z-base', variants: ['on'] }],
        split: [
          { variant: 'old', weight: 1 },
          { variant: 'new', weight: 1 },
        ],
      },
      { ramp: [{ at: '2026-01-01T00:00:00Z', percentage: 10 }], variant: 'new' },
    ],
    holdout: 5,
    frequencyCap: { count: 3, windowSeconds: 86_400 },
    schedule: { startsAt: '2026-01-01T00:00:00Z' },
    exclusionGroup: { name: 'buttons', from: 0, to: 50 },
    metrics: [
      { selectorId: selector.id, kind: 'sum', goal: 'up' },
      { eventName: 'refunded', kind: 'count', goal: 'down', guardrail: true },
    ],
    environments: {
      staging: { status: 'active', rules: [{ variant: 'new' }] },
      preview: { status: 'paused' },
    },
  })
  const old = await create('POST', 'decisions', {
    key: 'old-one',
    variants: [{ key: 'on', value: true }],
    fallbackVariant: 'on',
    rules: [],
  })
  await create('POST', `decisions/${old.key}/archive`)
  await create('POST', 'webhooks', {
    url: 'http://127.0.0.1:9/hook?token=abc',
    topics: ['event', 'conversion'],
    eventNames: ['order_placed'],
    filter: { '==': [{ var: 'properties.total' }, 1] },
    status: 'paused',
  })
  await create('PATCH', 'settings', {
    ingestValidation: { mode: 'enforce' },
    retentionDays: 400,
    deniedTraits: ['ssn'],
    links: { attributionWindowDays: 7 },
  })
}

beforeAll(async () => {
  ;({ folder, remove } = await temporaryFolder())
  const started = await startStandalone({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' })
  waymark = started
  token = await createToken(waymark, started)
})
beforeEach(() => rm(path.join(folder, 'waymark'), { recursive: true, force: true }))
afterAll(async () => {
  await waymark?.stop()
  await remove?.()
})

describe('a project with everything in it', () => {
  let full: string
  beforeAll(async () => {
    full = await createProject()
    await fill(full)
  })

  it('is pulled into files that say the same every time, without secrets', async () => {
    await json(['pull'], at(full))
    expect(
      (await readdir(file('.'), { recursive: true })).filter((name) => name.endsWith('.yaml')).sort(),
    ).toEqual([
      'alerts/Few-orders.yaml',
      'coupon-pools/Summer.yaml',
      expect.stringMatching(/^coupon-pools\/Ten/),
      'coupon-pools/Welcome.yaml',
      'dashboards/Overview.yaml',
      'decisions/button.yaml',
      'decisions/z-base.yaml',
      'email-triggers/Thanks.yaml',
      'environments/preview.yaml',
      'event-definitions/order_placed.yaml',
      'event-definitions/page-view-1.yaml',
      'insights/Funnel.yaml',
      'insights/Orders.yaml',
      expect.stringMatching(/^link-domains\/go-.*\.yaml$/),
      'loyalty-programmes/club.yaml',
      expect.stringMatching(/^metering-selectors\/order_placed/),
      expect.stringMatching(/^metering-selectors\/order_placed/),
      expect.stringMatching(/^metering-selectors\/order_placed/),
      'segments/pro.yaml',
      'settings.yaml',
      'subscriptions/Every-Monday.yaml',
      expect.stringMatching(/^webhooks\/127\.0\.0\.1-9-hook/),
    ])
    expect(await read('segments/pro.yaml')).toBe(`key: pro
name: Pro
condition:
  match: any
  filters:
    - property: traits.plan
      op: eq
      value: pro
  counts:
    - eventName: order_placed
      days: 30
      op: gte
      value: 2
`)
    expect(await read('dashboards/Overview.yaml')).toBe(
      'name: Overview\ninsightIds:\n  - Funnel\n  - Orders\n',
    )
    expect(await read('decisions/button.yaml')).toContain('couponPoolId: Summer\n')
    const again = await json<{ written: unknown[] }>(['pull'], at(full))
    expect(again.written).toEqual([])
    expect(await json(['diff'], at(full))).toEqual({ changes: [], unmanaged: [] })
  })

  it('is applied to an empty project, which then does not differ', async () => {
    await json(['pull'], at(full))
    const empty = await createProject()
    const domain = (await readdir(file('link-domains')))[0] ?? ''
    const plan = await json<Plan>(['apply'], at(empty))
    expect(plan.applied).toBe(plan.changes.length)
    expect(new Set(plan.changes.map(({ action }) => action))).toEqual(new Set(['create', 'update']))
    expect(await json(['diff'], at(empty))).toEqual({ changes: [], unmanaged: [] })
    // Nothing is left to do.
    expect(await json(['apply'], at(empty))).toMatchObject({ changes: [], applied: 0 })
    expect(await run(['diff', '--exit-code'], at(empty))).toMatchObject({
      code: 0,
      out: 'Nothing differs.\n',
    })
    // What was read from there is the same as what was written.
    const before = await Promise.all(['decisions/button.yaml', `link-domains/${domain}`].map(read))
    await json(['pull'], at(empty))
    expect(await Promise.all(['decisions/button.yaml', `link-domains/${domain}`].map(read))).toEqual(before)
  })
})

describe('files', () => {
  it('written by hand with the least that is needed do not differ after they were applied', async () => {
    const project = await createProject()
    await write('environments/preview.yaml', 'key: preview\n')
    await write('event-definitions/a.yaml', 'name: a\nschema: {}\n')
    await write('metering-selectors/a.yaml', 'eventName: a\namountProperty: total\n')
    await write('coupon-pools/a.yml', 'name: A\nkind: unique\nsize: 2\ndiscount: { type: free_shipping }\n')
    await write(
      'segments/a.yaml',
      'key: a\nname: A\ncondition:\n  filters: [{ property: traits.a, op: exists }]\n  counts: []\n',
    )
    await write('email-triggers/a.yaml', 'name: A\neventName: a\nsubject: Hi\nhtml: <p>Hi</p>\nfrom: null\n')
    await write(
      'decisions/a.yaml',
      'key: a\nvariants: [{ key: x, value: 1 }]\nfallbackVariant: x\nrules: [{ variant: x }]\n',
    )
    await write('webhooks/a.yaml', 'url: http://127.0.0.1:9/a\ntopics: [event]\n')
    await write('settings.yaml', '')
    expect((await json<Plan>(['apply'], at(project))).applied).toBe(8)
    expect(await json(['diff'], at(project))).toEqual({ changes: [], unmanaged: [] })
  })

  it('change what differs and nothing else', async () => {
    const project = await createProject()
    await fill(project)
    await json(['pull'], at(project))
    await write(
      'decisions/button.yaml',
      (await read('decisions/button.yaml'))
        .replace('name: Button', 'name: Renamed')
        .replace(/ {2}staging:\n(?: {4}.*\n)+/, ''),
    )
    await write('settings.yaml', 'retentionDays: 400\nlinks: { appendClickId: false }\n')
    await write(
      'email-triggers/Thanks.yaml',
      (await read('email-triggers/Thanks.yaml')).replace(/^filter:\n(?: .*\n)+/m, ''),
    )
    await rm(file('segments/pro.yaml'))
    const plan = await json<Plan>(['diff'], at(project))
    expect(shown(plan)).toEqual([
      'update email-triggers/Thanks',
      'update decisions/button',
      'update settings/settings',
    ])
    expect(plan.changes.map(({ fields }) => fields.map(({ field }) => field).sort())).toEqual([
      ['filter'],
      ['environments', 'name'],
      ['deniedTraits', 'ingestValidation', 'links'],
    ])
    expect(plan.unmanaged).toEqual(['segments/pro'])
    await json(['apply'], at(project))
    expect(await json(['diff'], at(project))).toEqual({ changes: [], unmanaged: ['segments/pro'] })
    const decision = await manage(project)('GET', 'decisions/button')
    expect(decision).toMatchObject({ name: 'Renamed', environments: { preview: { status: 'paused' } } })
    expect(Object.keys(decision.environments as object)).toEqual(['preview'])
    expect(await manage(project)('GET', 'settings')).toEqual({
      retentionDays: 400,
      links: { appendClickId: false },
    })
  })

  it('rename what has no key, and remove only with --prune', async () => {
    const project = await createProject()
    const create = manage(project)
    const { id } = await create('POST', 'insights', {
      name: 'Orders',
      kind: 'trends',
      query: { series: [{ metric: 'events' }], interval: 'day' },
    })
    await create('POST', 'dashboards', { name: 'Overview', insightIds: [id] })
    await json(['pull'], at(project))
    await write(
      'insights/Orders.yaml',
      (await read('insights/Orders.yaml')).replace('name: Orders', 'name: All orders'),
    )
    await write('dashboards/Overview.yaml', 'name: Overview\ninsightIds: [All orders]\n')
    expect(shown(await json<Plan>(['apply'], at(project)))).toEqual(['update insights/All orders'])
    expect(await create('GET', `insights/${id}`)).toMatchObject({ name: 'All orders' })
    await rm(file('dashboards/Overview.yaml'))
    expect(shown(await json<Plan>(['apply'], at(project)))).toEqual([])
    expect(shown(await json<Plan>(['apply', '--prune'], at(project)))).toEqual(['remove dashboards/Overview'])
    expect(await create('GET', 'dashboards')).toMatchObject({ data: [] })
  })

  it('remove a segment after the decision that needs it', async () => {
    const project = await createProject()
    await fill(project)
    await json(['pull'], at(project))
    await rm(file('segments'), { recursive: true })
    // Rules still refer to it, so that the API refuses.
    const refused = await run(['apply', '--prune'], at(project))
    expect(refused).toMatchObject({ code: 5, err: expect.stringContaining('409') })
    await rm(file('decisions/button.yaml'))
    expect(shown(await json<Plan>(['apply', '--prune'], at(project)))).toEqual([
      'remove decisions/button',
      'remove segments/pro',
    ])
  })

  it('take values from the environment, and keep these references', async () => {
    const project = await createProject()
    await write('webhooks/hook.yaml', `url: http://127.0.0.1:9/hook?key=${REFERENCE}\ntopics: [event]\n`)
    expect(await run(['apply'], at(project))).toMatchObject({
      code: 2,
      err: 'webhooks/hook.yaml: the environment has no HOOK_KEY\n',
    })
    const alert = { name: 'Few', condition: { type: 'below', value: 1 }, interval: 'day' }
    const slackUrl = `https://hooks.slack.example/${REFERENCE}`
    await write(
      'alerts/few.yaml',
      JSON.stringify({ ...alert, measure: { web: { figure: 'visits' } }, slackUrl }),
    )
    await json(['apply'], at(project, { HOOK_KEY: 'secret' }))
    expect(await manage(project)('GET', 'webhooks')).toMatchObject({
      data: [{ url: 'http://127.0.0.1:9/hook?key=secret' }],
    })
    const [stored] = (await manage(project)('GET', 'alerts')).data as Fields[]
    expect(stored?.slackUrl).toBe(maskedUrl('https://hooks.slack.example/secret'))
    expect(await json(['diff'], at(project, { HOOK_KEY: 'secret' }))).toMatchObject({ changes: [] })
    expect(shown(await json<Plan>(['diff'], at(project, { HOOK_KEY: 'other' })))).toContain(
      'update alerts/Few',
    )
    await json(['pull'], at(project, { HOOK_KEY: 'secret' }))
    expect(await read('alerts/few.yaml')).toContain(REFERENCE)
    expect(await read('webhooks/hook.yaml')).toContain(REFERENCE)
    // Without the variable, the value is not known to be another one.
    await json(['pull'], at(project))
    expect(await read('webhooks/hook.yaml')).toContain(REFERENCE)
    expect(await readdir(file('webhooks'))).toEqual(['hook.yaml'])
  })

  it('stay when they were not applied yet, and go with what they described', async () => {
    const project = await createProject()
    await manage(project)('POST', 'environments', { key: 'preview' })
    await json(['pull'], at(project))
    await write('environments/new.yaml', 'key: new\n')
    await manage(project)('DELETE', 'environments/preview')
    expect(await json(['pull'], at(project))).toMatchObject({
      written: [{ file: 'environments/preview.yaml', action: 'removed' }],
    })
    expect(await readdir(file('environments'))).toEqual(['new.yaml'])
  })

  it.each([
    ['segments/a.yaml', 'key: a\nnmae: A\n', /segments\/a.yaml: unknown field nmae/],
    ['segments/a.yaml', 'key: [\n', /segments\/a.yaml is not YAML/],
    ['segments/a.yaml', '- key: a\n', /segments\/a.yaml must be a mapping/],
    ['segments/a.yaml', 'name: A\n', /segments\/a.yaml: the field key is missing/],
    ['segment/a.yaml', 'key: a\n', /segment is no kind of resource: environments, /],
    ['dashboards/a.yaml', 'name: A\ninsightIds: [Missing]\n', /insightIds\[\] refers to Missing/],
  ])('with a mistake are refused before anything changes (%s: %j)', async (name, text, message) => {
    await write('environments/preview.yaml', 'key: preview\n')
    await write(name, text)
    const project = await createProject()
    expect(await run(['apply'], at(project))).toMatchObject({ code: 2, err: expect.stringMatching(message) })
    expect(await manage(project)('GET', 'environments')).toMatchObject({ environments: { length: 2 } })
  })

  it('that describe the same are refused', async () => {
    await write('segments/a.yaml', 'key: a\n')
    await write('segments/b.yaml', 'key: a\n')
    const project = await createProject()
    expect(await run(['diff'], at(project))).toMatchObject({
      code: 2,
      err: 'segments/a.yaml and segments/b.yaml describe the same: a\n',
    })
  })

  it('cannot change what the API fixes', async () => {
    const project = await createProject()
    await write('environments/preview.yaml', 'key: preview\nname: One\n')
    await json(['apply'], at(project))
    await write('environments/preview.yaml', 'key: preview\nname: Two\n')
    expect(await run(['apply'], at(project))).toMatchObject({
      code: 2,
      err: expect.stringContaining('name of preview cannot be changed'),
    })
  })
})

describe('a project whose decisions need approvals', () => {
  it('gets proposals of them with --propose, each once, and all other changes', async () => {
    const project = await createProject()
    await manage(project)('PATCH', 'settings', { approvals: { required: 1 } })
    await json(['pull'], at(project))
    await write(
      'decisions/button.yaml',
      [
        'key: button',
        'status: active',
        'variants: [{ key: "off", value: false }, { key: "on", value: true }]',
        'fallbackVariant: "off"',
        'rules: [{ variant: "on", rollout: 50 }]',
        '',
      ].join('\n'),
    )
    await write('environments/preview.yaml', 'key: preview\nname: preview\n')
    expect(await run(['apply'], at(project))).toMatchObject({
      code: 3,
      err: expect.stringContaining('need approvals'),
    })
    const first = await json<Proposals>(['apply', '--propose', '--comment', 'Sale'], at(project))
    expect(first).toMatchObject({ applied: 0, proposals: [{ decision: 'button', status: 'open' }] })
    expect(await manage(project)('GET', 'decisions/button')).toMatchObject({ status: 'draft' })
    const open = async () =>
      (await manage(project)('GET', 'proposals?status=open')) as { data: Record<string, unknown>[] }
    expect((await open()).data).toMatchObject([
      { request: { change: { status: 'active' } }, comment: 'Sale' },
    ])
    // Again, it is the same proposal, also after another change of the decision.
    expect((await json<Proposals>(['apply', '--propose'], at(project))).proposals).toEqual(first.proposals)
    await manage(project)('PATCH', 'decisions/button', { description: 'A button' })
    await json(['pull'], at(project))
    await write(
      'decisions/button.yaml',
      (await read('decisions/button.yaml')).replace('status: draft', 'status: active'),
    )
    expect((await json<Proposals>(['apply', '--propose'], at(project))).proposals).toMatchObject([
      { id: first.proposals[0]?.id, revision: 2 },
    ])
    expect((await open()).data).toHaveLength(1)
    await rm(file('decisions/button.yaml'))
    await json<Proposals>(['apply', '--propose', '--prune'], at(project))
    expect((await open()).data.map(({ request }) => request)).toContainEqual({
      change: { status: 'archived' },
    })
    expect(await run(['apply', '--comment', 'Sale'], at(project))).toMatchObject({ code: 2 })
  })
})

describe('a project that others change', () => {
  const segment = (name: string) => ({
    key: 'pro',
    name,
    condition: { filters: [{ property: 'traits.plan', op: 'eq', value: 'pro' }] },
  })

  it('is not changed over them, unless that is asked for', async () => {
    const project = await createProject()
    await manage(project)('POST', 'segments', segment('One'))
    await json(['pull'], at(project))
    await write('segments/pro.yaml', (await read('segments/pro.yaml')).replace('One', 'Mine'))
    await manage(project)('PATCH', 'segments/pro', { name: 'Theirs' })
    expect(await run(['apply'], at(project))).toMatchObject({
      code: 5,
      err: expect.stringContaining('segments/pro\n'),
    })
    expect(await manage(project)('GET', 'segments/pro')).toMatchObject({ name: 'Theirs' })
    expect((await run(['diff'], at(project))).out).toContain(
      '(changed by others since the last pull or apply)',
    )
    await json(['apply', '--overwrite'], at(project))
    expect(await manage(project)('GET', 'segments/pro')).toMatchObject({ name: 'Mine' })
    // What was applied is known.
    await write('segments/pro.yaml', (await read('segments/pro.yaml')).replace('Mine', 'Mine again'))
    await json(['apply'], at(project))
  })

  it('is not changed when that happens between the comparison and the change', async () => {
    const project = await createProject()
    await manage(project)('POST', 'segments', segment('One'))
    await json(['pull'], at(project))
    await write('segments/pro.yaml', (await read('segments/pro.yaml')).replace('One', 'Mine'))
    const racing = async (request: Request): Promise<Response> => {
      // The last moment: before the change is sent.
      if (request.method === 'PATCH') await manage(project)('PATCH', 'segments/pro', { name: 'Theirs' })
      return toServer(waymark, request)
    }
    expect(await run(['apply'], { ...at(project), fetch: racing })).toMatchObject({
      code: 5,
      err: 'segments/pro was changed meanwhile. Run `waymark diff` again.\n',
    })
    expect(await manage(project)('GET', 'segments/pro')).toMatchObject({ name: 'Theirs' })
  })

  it('is not changed with --dry-run', async () => {
    const project = await createProject()
    await write('environments/preview.yaml', 'key: preview\n')
    expect(shown(await json<Plan>(['apply', '--dry-run'], at(project)))).toEqual([
      'create environments/preview',
    ])
    expect(await manage(project)('GET', 'environments')).toMatchObject({ environments: { length: 2 } })
    expect(await run(['diff', '--exit-code'], at(project))).toMatchObject({
      code: 7,
      out: '+ environments/preview\n',
    })
  })
})

it('writes types and a JSON Schema of the catalog', async () => {
  const project = await createProject()
  await manage(project)('POST', 'event-definitions', {
    name: 'order_placed',
    schema: { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] },
  })
  const result = await json(
    ['types', '--out', 'types/events.ts', '--schema', 'types/events.json'],
    at(project),
  )
  expect(result).toEqual({ events: 1, files: ['types/events.ts', 'types/events.json'] })
  expect(await readFile(path.join(folder, 'types/events.ts'), 'utf8')).toContain(
    '"order_placed": OrderPlaced.Properties',
  )
  expect(JSON.parse(await readFile(path.join(folder, 'types/events.json'), 'utf8'))).toMatchObject({
    oneOf: [{ properties: { eventName: { const: 'order_placed' } } }],
  })
})
