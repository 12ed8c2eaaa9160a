import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { eventually, extent, startStandalone } from '@waymark/testing'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AxeScope,
  CHROMIUM,
  collectFailures,
  expectAccessible,
  expectFitting,
  launchChromium,
  loaded,
  navigate,
  scrollingTables,
  setTheme,
  signUp,
} from './console-browser.ts'

const run = promisify(execFile)
/** The cookies and the local storage of a browser. */
type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>
const PICTURES = path.resolve(import.meta.dirname, '../../../docs/images/console')
const WIDTHS = { phone: 320, tablet: 1024, desktop: 1440 }
/** Pages take turns in these looks in `npm test`, and each has all of them in `npm run test:chaos`. */
const LOOKS = [
  { theme: 'light', width: WIDTHS.desktop },
  { theme: 'dark', width: WIDTHS.phone },
  { theme: 'dark', width: WIDTHS.desktop },
  { theme: 'light', width: WIDTHS.phone },
] as const
const looksOf = (index: number) => LOOKS.filter((_, look) => extent(look === index % LOOKS.length, true))
/** One in so many pages and forms is taken where the others differ from it by little. */
const ONE_IN = extent(3, 1)
const some = <T>(all: readonly T[]): T[] => all.filter((_, index) => index % ONE_IN === 0)
/** The navigation is the same on every page, so it is checked on Home. Further rows of a table look like the first ones. */
const AFTER_HOME = extent<AxeScope>({ without: 'aside', rows: 10 }, {})
/** The page behind a dialog is checked without it, and once with it. */
const DIALOG = extent<AxeScope>({ within: '[role=dialog]', rows: 10 }, {})
/** Pages that every project has. */
const PLACES = [
  ['home', ''],
  ['live', '/live'],
  ['health', '/health'],
  ['web', '/web'],
  ['trends', '/explore'],
  ['funnel', '/explore/funnel'],
  ['retention', '/explore/retention'],
  ['paths', '/explore/paths'],
  ['saved', '/explore/saved'],
  ['dashboards', '/dashboards'],
  ['alerts', '/alerts'],
  ['people', '/people'],
  ['segments', '/people/segments'],
  ['catalog', '/catalog'],
  ['rejected', '/catalog/rejected'],
  ['dead-letters', '/catalog/dead-letters'],
  ['links', '/links'],
  ['campaigns', '/links/campaigns'],
  ['domains', '/links/domains'],
  ['coupons', '/coupons'],
  ['redemptions', '/coupons/redemptions'],
  ['decisions', '/decisions'],
  ['new-decision', '/decisions/_new'],
  ['email', '/email'],
  ['new-trigger', '/email/new'],
  ['deliveries', '/email/deliveries'],
  ['suppressions', '/email/suppressions'],
  ['senders', '/email/senders'],
  ['settings', '/settings'],
  ['conversions', '/settings/conversions'],
  ['webhooks', '/settings/webhooks'],
  ['keys', '/settings/keys'],
  ['members', '/settings/members'],
  ['single sign-on', '/settings/single-sign-on'],
  ['audit', '/settings/audit'],
  ['account', '/settings/account'],
] as const
/** Pages whose empty list shows a command of the API that creates its first item. */
const CREATED_BY_COMMAND = new Set(
  'saved dashboards alerts segments catalog links campaigns domains coupons decisions email suppressions senders conversions webhooks'.split(
    ' ',
  ),
)
/** Queries of the demo data whose results have groups. */
const QUERIES = {
  trends: 'series=[{"eventName":"product_viewed","metric":"people"}]&breakdown=properties.category',
  funnel: 'steps=[{"eventName":"product_viewed"},{"eventName":"order_placed"}]&breakdown=properties.category',
  retention: 'startEvent=product_viewed&returnEvent=product_viewed',
}
/** The figures of Home. */
const METRICS = 4
/** Pages whose tables have a column for each value of the data, and scroll on a phone. */
const WITH_WIDE_TABLES = new Set([
  'trends with groups',
  'funnel with groups',
  'retention of an event',
  'dashboard',
])
/** Pages with screenshots in docs/console.md. */
const PICTURED = new Set([
  ...'home live trends paths dashboard people person catalog rejected links link domain coupons pool'.split(
    ' ',
  ),
  ...'decisions decision email settings webhook'.split(' '),
  'funnel with groups',
  'retention of an event',
])

describe.skipIf(CHROMIUM === undefined)('every page of the console with the demo data', () => {
  let waymark: Awaited<ReturnType<typeof startStandalone>>
  let browser: Browser
  let baseUrl = ''
  let places: readonly (readonly [name: string, place: string])[] = []
  let dialogs: readonly string[] = []
  let giftCard = ''

  beforeAll(async () => {
    waymark = await startStandalone({ WAYMARK_DEMO_DATA: 'on', REGISTRATION_MODE: 'open' })
    baseUrl = new URL((await waymark.request('/healthz')).url).origin
    await eventually('the demo data is there', async () => (await list('email-deliveries')).length === 3)
    // Other consumers store them.
    await eventually('its refused events are there', async () => (await list('rejected-events')).length > 0)
    const { id: webhookId } = await post('webhooks', {
      url: 'https://shop.example/waymark',
      topics: ['event', 'conversion'],
      filter: { '>': [{ var: 'properties.total' }, 100] },
      status: 'paused',
    })
    await post(`webhooks/${webhookId}/test`)
    const { id: domainId } = await post('link-domains', {
      host: 'go.shop.example',
      rootUrl: 'https://shop.example/',
      assetLinks: [{ relation: ['delegate_permission/common.handle_all_urls'] }],
    })
    await post('segments', {
      key: 'regulars',
      name: 'Regular customers',
      condition: { counts: [{ eventName: 'order_placed', days: 30, op: 'gte', value: 2 }] },
    })
    const { id: alertId } = await post('alerts', {
      name: 'Few visitors',
      measure: { web: { figure: 'visitors' } },
      condition: { type: 'unusual', direction: 'down' },
      interval: 'hour',
      emailRoles: ['owner'],
    })
    const { id: subscriptionId } = await post('subscriptions', {
      name: 'Shop every Monday',
      dashboardId: (await list('dashboards'))[0]?.id,
      frequency: 'week',
      emailRoles: ['owner'],
    })
    await addMember('editor')
    await post('invitations', { email: 'somebody.with.a.long.name@shop.example', role: 'viewer' })
    const change = { status: 'paused', rules: [{ rollout: 50, variant: 'countdown' }] }
    const { id: changeId } = await post('decisions/demo-sale-banner/scheduled-changes', {
      at: new Date(Date.now() + 7 * 86_400_000).toISOString(),
      change,
    })
    expect(changeId).toEqual(expect.any(String))
    browser = await launchChromium()
    const idIn = async (resource: string) => (await list(resource))[0]?.id
    const gifts = (await list('coupon-pools')).find(({ kind }) => kind === 'balance')?.id
    const [card] = await list(`coupons?poolId=${gifts}`)
    giftCard = `/coupons/${gifts}?card=${card?.id}`
    // Two that follow each other have different headings, by which `navigate` waits for the next page.
    places = [
      ...PLACES,
      ['trends with groups', `/explore/trends?${QUERIES.trends}&compareTo=previous_period`],
      ['funnel with groups', `/explore/funnel?${QUERIES.funnel}`],
      ['retention of an event', `/explore/retention?${QUERIES.retention}`],
      ['dashboard', `/dashboards/${await idIn('dashboards')}`],
      ['person', `/people/${await idIn('profiles?userId=demo-user-001')}`],
      ['segment', '/people/segments/regulars'],
      ['new-segment', '/people/segments?open=new'],
      ['segment form', '/people/segments/regulars?open=edit'],
      ['definition', `/catalog/${await idIn('event-definitions')}`],
      ['alert', `/alerts/${alertId}`],
      ['subscriptions', '/dashboards/subscriptions'],
      ['subscription', `/dashboards/subscriptions/${subscriptionId}`],
      ['decision schedule', '/decisions/demo-sale-banner?view=schedule'],
      ['links by clicks', '/links?sort-links=-Clicks'],
      ['decision history', '/decisions/demo-sale-banner?view=history'],
      ['link', `/links/${await idIn('links')}`],
      ['decision in staging', '/decisions/demo-sale-banner?view=rules&environment=staging'],
      ['domain', `/links/domains/${domainId}`],
      ['pool', `/coupons/${await idIn('coupon-pools')}`],
      ['decision', '/decisions/demo-sale-banner'],
      ['gift cards', `/coupons/${gifts}`],
      ['programmes', '/coupons/loyalty'],
      ['programme', '/coupons/loyalty/demo-club'],
      ['new-programme', '/coupons/loyalty?open=new'],
      ['webhook', `/settings/webhooks/${webhookId}`],
      ['decision rules', '/decisions/demo-sale-banner?view=rules'],
    ]
    const [event] = (await list('events')) as unknown as { eventId: string }[]
    const insight = await idIn('insights')
    const pool = `/coupons/${await idIn('coupon-pools')}`
    const dashboard = `/dashboards/${await idIn('dashboards')}`
    dialogs = [
      `/live?event=${event?.eventId}`,
      '/live?open=export',
      ...['save', 'curl', 'export'].map((name) => `/explore/trends?open=${name}`),
      `/explore/trends?insight=${insight}&open=dashboard`,
      ...['rename', 'add'].map((name) => `/explore/saved?${name}=${insight}`),
      '/dashboards?new=1',
      ...['rename', 'add'].map((name) => `${dashboard}?open=${name}`),
      '/alerts?new=1',
      `/alerts/${alertId}?open=edit`,
      '/dashboards/subscriptions?new=1',
      `/dashboards/subscriptions/${subscriptionId}?open=edit`,
      '/catalog?new=1',
      `/catalog/${await idIn('event-definitions')}?open=edit`,
      `/catalog/${await idIn('event-definitions')}?row=1`,
      `/catalog/rejected?row=${await idIn('rejected-events')}`,
      '/links?new=1',
      '/links?open=import',
      `/links/${await idIn('links')}?open=edit`,
      '/links/domains?open=add',
      `/links/domains/${domainId}?open=edit`,
      '/coupons?new=1',
      ...['edit', 'assign', 'top-up', 'import', 'discount', 'cart'].map((name) => `${pool}?open=${name}`),
      giftCard,
      '/decisions/demo-sale-banner?view=history&row=1',
      '/decisions/demo-sale-banner?view=schedule&open=schedule',
      '/email/suppressions?open=add',
      '/email/senders?open=add',
      '/settings/conversions?open=add',
      '/settings/webhooks?new=1',
      `/settings/webhooks/${webhookId}?open=edit`,
      `/settings/webhooks/${webhookId}?delivery=${await idIn(`webhooks/${webhookId}/deliveries`)}`,
      '/settings/keys?new=1',
      `/settings/keys?edit=${await idIn('api-keys')}`,
      '/settings/members?open=invite',
      '/settings/single-sign-on?provider=new',
      ...['create', 'second-factor'].map((name) => `/settings/account?open=${name}`),
      '/people?open=new-project',
    ]
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const list = async (resource: string) => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/${resource}`)
    return ((await response.json()) as { data: { id: string; kind?: string }[] }).data
  }

  const post = async (resource: string, body: unknown = {}) => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/${resource}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect({ resource, status: response.status }).toEqual({ resource, status: expect.toBeOneOf([201, 202]) })
    return (await response.json()) as { id: string; token: string }
  }

  const openPage = async (storageState?: StorageState) => {
    const context = await browser.newContext({
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
      ...(storageState && { storageState }),
    })
    const page = await context.newPage()
    return { page, failures: collectFailures(page), context }
  }

  /** A page for a signed-in user, and its errors. */
  const signIn = async ({ email, password }: { email: string; password: string }) => {
    const opened = await openPage()
    const { page, failures } = opened
    await page.goto(`${baseUrl}/console/`)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    // The request for the current account was answered with 401 before the sign-in.
    failures.length = 0
    return opened
  }

  let owner: StorageState | undefined
  /** A page for the owner, who has signed in once. */
  const openAsOwner = async () => {
    if (owner) return openPage(owner)
    const opened = await signIn(waymark)
    owner = await opened.context.storageState()
    return opened
  }

  const open = async (page: Page, place: string) => {
    await page.goto(`${baseUrl}/console/p/${waymark.projectId}${place}`)
    await loaded(page)
    await page.evaluate('document.fonts.ready')
  }

  /** Opens a project on a page that needs little, and returns the project's URL. */
  const enter = async (page: Page, projectId: string) => {
    const project = `${baseUrl}/console/p/${projectId}`
    await page.goto(`${project}/settings/account`)
    await loaded(page)
    return project
  }

  /** Goes to any page that has a heading, also to one of the route that is shown. */
  const visit = async (page: Page, url: string) => {
    const pathOf = (address: string) => new URL(address).pathname
    // The heading, by which `navigate` waits, stays when only the query changes.
    if (pathOf(page.url()) === pathOf(url))
      await navigate(page, `${baseUrl}/console/p/${waymark.projectId}/settings/account`)
    await navigate(page, url)
  }

  /** URLs in an order in which rarely two of the same page follow each other, which `visit` would leave in between. */
  const byTurns = <T extends readonly [name: string, place: string]>(urls: readonly T[]): T[] => {
    const pages = Map.groupBy(urls, ([, place]) => place.split('?')[0])
    const rounds = Math.max(...[...pages.values()].map(({ length }) => length))
    return Array.from({ length: rounds }, (_, n) =>
      [...pages.values()].flatMap((of) => of.slice(n, n + 1)),
    ).flat()
  }

  /** Opens a dialog by its URL, as a link does. */
  const openDialog = async (page: Page, url: string) => {
    await page.evaluate(`history.pushState({}, '', ${JSON.stringify(url)})`)
    await page.getByRole('dialog').getByRole('heading', { level: 2 }).first().waitFor()
    await eventually('the dialog is loaded', async () => (await page.getByLabel('Loading').count()) === 0)
  }

  const closeDialog = async (page: Page) => {
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }

  /** Adds a user with a role to the project, and returns how they sign in. */
  const addMember = async (role: 'viewer' | 'editor') => {
    const member = { email: `${randomUUID()}@shop.example`, password: 'a long way to the shop' }
    const { token } = await post('invitations', { email: member.email, role })
    const accepted = await fetch(`${baseUrl}/api/auth/invitations/accept`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: baseUrl },
      body: JSON.stringify({ token, name: 'Vera', password: member.password }),
    })
    expect(accepted.status).toBe(200)
    return member
  }

  it('is accessible, whole and without errors with the demo data', async () => {
    const { page, failures, context } = await openAsOwner()
    const project = await enter(page, waymark.projectId)
    const scrolling: string[] = []
    for (const [index, [name, place]] of places.entries()) {
      await navigate(page, `${project}${place}`)
      const title = await page.getByRole('heading', { level: 1 }).innerText()
      await expect.poll(() => page.title()).toBe(`${title} · Waymark`)
      const isHome = name === 'home'
      for (const { theme, width } of isHome ? LOOKS : looksOf(index)) {
        await setTheme(page, theme)
        await expectFitting(page, width)
        await expectAccessible(page, isHome ? {} : AFTER_HOME)
      }
      await expectFitting(page, WIDTHS.tablet)
      await expectFitting(page, WIDTHS.phone)
      if (!WITH_WIDE_TABLES.has(name))
        scrolling.push(...(await scrollingTables(page)).map((table) => `${name}: ${table}`))
    }
    expect(scrolling).toEqual([])
    expect(failures).toEqual([])
    await context.close()
  }, 300_000)

  it('moves nothing on Home while it loads, on a phone', async () => {
    const { page, failures, context } = await openAsOwner()
    await page.setViewportSize({ width: 390, height: 844 })
    await page.addInitScript(`
      globalThis.shifts = []
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput, sources } of list.getEntries())
          if (!hadRecentInput) shifts.push({ value, of: sources.map(({ node }) => node?.outerHTML?.slice(0, 200)) })
      }).observe({ type: 'layout-shift', buffered: true })`)
    let held: (() => Promise<void>)[] = []
    let isHeld = (_url: string): boolean => false
    await page.route('**/*', async (route) => {
      if (isHeld(route.request().url())) held.push(() => route.continue())
      else await route.continue()
    })
    // Each kind of answer is the last one once, because what it shows could move all others.
    for (const [last, waiting, most] of [
      ['/demo-data', 1, 0.05],
      ['/analytics/trends', METRICS + 2, 0.05],
      ['/stats/pipeline', 1, 0.05],
      ['/events?limit=8', 1, 0.05],
      // Text in another font may wrap elsewhere.
      ['.woff2', 0, 0.1],
    ] as const) {
      held = []
      isHeld = (url) => url.includes(last)
      // The page is not loaded before its font, which may be held.
      await page.goto(`${baseUrl}/console/p/${waymark.projectId}`, { waitUntil: 'domcontentloaded' })
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
      await eventually(
        `only ${last} is missing`,
        async () => held.length > 0 && (await page.getByLabel('Loading').count()) === waiting,
      )
      // Two frames show all that has arrived.
      const drawn = () =>
        page.evaluate(
          `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))`,
        )
      await drawn()
      isHeld = () => false
      for (const release of held) await release()
      await loaded(page)
      await page.evaluate('document.fonts.ready')
      await page.getByRole('region', { name: 'Demo data' }).waitFor()
      await drawn()
      const shifts = await page.evaluate<{ value: number; of: unknown[] }[]>('shifts')
      const sum = shifts.reduce((total, { value }) => total + value, 0)
      expect(sum, `${last} ${JSON.stringify(shifts)}`).toBeLessThan(most)
    }
    expect(failures).toEqual([])
    await context.close()
  })

  it('shows revenue as money of its currency', async () => {
    const { page, failures, context } = await openAsOwner()
    const project = await enter(page, waymark.projectId)
    const dashboard = places.find(([name]) => name === 'dashboard')?.[1] ?? ''
    const main = page.getByRole('main')
    for (const [place, shown] of [
      ['', main.locator('section').filter({ hasText: 'Revenue today' })],
      ['/explore/trends?series=[{"metric":"revenue"}]', main.getByRole('table', { name: 'Totals' })],
      [dashboard, main.getByRole('listitem').filter({ hasText: 'Revenue by campaign' })],
      ['/decisions/demo-sale-banner', main.getByRole('table', { name: 'Results of Revenue' })],
    ] as const) {
      await navigate(page, `${project}${place}`)
      await expect.poll(() => shown.innerText(), { message: place }).toMatch(/€\d[\d,]*\.\d\d/)
    }
    expect(failures).toEqual([])
    await context.close()
  })

  it('opens every dialog by its URL, accessible and whole', async () => {
    const { page, failures, context } = await openAsOwner()
    const project = await enter(page, waymark.projectId)
    for (const [index, place] of dialogs.entries()) {
      await openDialog(page, `${project}${place}`)
      for (const { theme, width } of looksOf(index)) {
        await setTheme(page, theme)
        await expectFitting(page, width)
        await expectAccessible(page, index === 0 ? {} : DIALOG)
      }
      await closeDialog(page)
    }
    expect(failures).toEqual([])
    await context.close()
  }, 300_000)

  it('is accessible, whole and without errors in a project that holds nothing, with commands that create what is missing', async () => {
    // Keys are created, which needs a sign-in within 10 minutes.
    const { page, failures, context } = await signIn(waymark)
    const create = async (path: string, data: object) => {
      const created = await context.request.post(`${baseUrl}/api/projects${path}`, {
        headers: { Origin: baseUrl },
        data,
      })
      expect(created.status()).toBe(201)
      return (await created.json()) as { id: string; key: string }
    }
    const { id } = await create('', { name: 'Empty' })
    const project = await enter(page, id)
    const commands: string[] = []
    // Empty pages differ from those above by little.
    const shown = some(PLACES.map(([name]) => name))
    for (const [index, [name, place]] of PLACES.entries()) {
      if (!shown.includes(name) && !CREATED_BY_COMMAND.has(name)) continue
      await navigate(page, `${project}${place}`)
      for (const { theme, width } of shown.includes(name) ? looksOf(index) : []) {
        await setTheme(page, theme)
        await expectFitting(page, width)
        await expectAccessible(page, AFTER_HOME)
      }
      await expectFitting(page, WIDTHS.phone)
      if (CREATED_BY_COMMAND.has(name)) {
        const command = await page.getByRole('region', { name: /^Command that/ }).innerText()
        expect({ name, command }).toEqual({ name, command: expect.stringContaining('<key with the scope') })
        commands.push(command)
      }
    }
    expect(commands).toHaveLength(CREATED_BY_COMMAND.size)
    const keyWith = async (scope: string) =>
      (await create(`/${id}/api-keys`, { name: scope, kind: 'sec', scopes: [scope] })).key
    const keys = new Map([
      ['manage:write', await keyWith('manage:write')],
      ['manage:admin', await keyWith('manage:admin')],
    ])
    for (const command of commands) {
      const withKey = command.replace(/<key with the scope (.+?)>/, (_, scope) => keys.get(scope) ?? '')
      const { stdout } = await run('bash', ['-c', `${withKey} -s -w '\n%{http_code}'`])
      expect(stdout).toMatch(/\n201$/)
    }
    expect(failures).toEqual([])
    await context.close()
  }, 300_000)

  it('hides actions that a viewer may not do, and refuses them', async () => {
    const { page, failures, context } = await signIn(await addMember('viewer'))
    const changes =
      /^(Create|New|Edit|Save|Archive|Assign|Pause|Turn off|Restore|Schedule a|Cancel|Activate|Import|Replay|Erase|Remove|Revoke|Rotate|Invite|Roll back|Top up|Rename|Add|Delete|Send|Verify|Check|Transfer|Refund|Change)\b/
    // Editing a query changes no data, and everyone may edit their own account.
    const own = /^(trends|funnel|retention|paths|keys|members|audit|account|new-)/
    const isForm = (place: string) =>
      /[?&](new|open|edit|rename|add)=/.test(place) &&
      !/account|open=(curl|export|cart|new-project)/.test(place)
    const restricted = /^.(settings.(webhooks|keys|members|audit)|email.senders)/
    const forms = some(dialogs.filter(isForm))
    expect(forms.length).toBeGreaterThan(15 / ONE_IN)
    expect(places.filter(([, place]) => restricted.test(place))).toHaveLength(6)
    const project = await enter(page, waymark.projectId)
    const main = page.getByRole('main')
    const taken = places.filter(([, place], index) => restricted.test(place) || index % ONE_IN === 0)
    for (const [name, place] of byTurns([...taken, ...forms.map((form) => ['form', form] as const)])) {
      await visit(page, `${project}${place}`)
      if (name === 'form') {
        expect({ place, dialogs: await page.getByRole('dialog').count() }).toEqual({ place, dialogs: 0 })
        continue
      }
      if (name === 'home') await page.getByText('This project holds demo data').waitFor()
      if (restricted.test(place)) await main.getByText(/admin/i).first().waitFor()
      if (own.test(name)) continue
      const offered = await main.getByRole('button', { name: changes, disabled: false }).allInnerTexts()
      // Everyone may pause the list of events.
      const changing = offered.filter((label) => !(name === 'live' && label === 'Pause'))
      expect({ name, changing }).toEqual({ name, changing: [] })
    }
    await openDialog(page, `${project}${giftCard}`)
    await page.getByRole('table', { name: 'Movements of the card' }).waitFor()
    expect(await page.getByRole('dialog').getByRole('button', { name: changes }).count()).toBe(0)
    expect(failures).toEqual([])

    const refused = await page.evaluate<number>(
      `fetch('/api/projects/${waymark.projectId}/demo-data', { method: 'DELETE' }).then(({ status }) => status)`,
    )
    expect(refused).toBe(403)
    await context.close()
  })

  it('offers an editor to test a webhook, and not to change it', async () => {
    const { page, failures, context } = await signIn(await addMember('editor'))
    const main = page.getByRole('main')
    await open(page, '/settings/webhooks')
    expect(await main.getByRole('button', { name: 'Create webhook' }).count()).toBe(0)
    await main.getByRole('link', { name: 'https://shop.example/waymark' }).click()
    await main.getByRole('button', { name: 'Send test' }).waitFor()
    expect(await main.getByRole('button', { name: /^(Edit|Pause|Activate|Rotate|Delete)/ }).count()).toBe(0)
    // A paused webhook sends nothing again.
    expect(await main.getByRole('button', { name: 'Replay a time range' }).isDisabled()).toBe(true)
    expect(failures).toEqual([])
    await context.close()
  })

  it('opens to an editor the forms of editors, and no other', async () => {
    const { page, failures, context } = await signIn(await addMember('editor'))
    const ofAdmins = /^.(links.domains|email.senders|settings.(webhooks|keys|members|single-sign-on))/
    const all = dialogs.filter((one) => /[?&](new|open|edit|provider)=/.test(one))
    const admins = all.filter((one) => ofAdmins.test(one))
    expect(admins.length).toBeGreaterThan(7)
    const forms = [...some(admins), ...some(all.filter((one) => !ofAdmins.test(one)))]
    const project = await enter(page, waymark.projectId)
    for (const [, place] of byTurns(forms.map((form) => ['form', form] as const))) {
      if (ofAdmins.test(place)) {
        await visit(page, `${project}${place}`)
        expect({ place, dialogs: await page.getByRole('dialog').count() }).toEqual({ place, dialogs: 0 })
      } else {
        await openDialog(page, `${project}${place}`)
        await closeDialog(page)
      }
    }
    expect(failures).toEqual([])
    const refused = await page.evaluate<number[]>(
      `Promise.all(['api-keys', 'invitations', 'webhooks', 'link-domains'].map((resource) =>
        fetch('/api/projects/${waymark.projectId}/' + resource, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: '{}',
        }).then(({ status }) => status)))`,
    )
    expect(refused).toEqual([403, 403, 403, 403])
    await context.close()
  })

  it('shows a stranger nothing of the project', async () => {
    const context = await browser.newContext({ locale: 'en-GB' })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/console/p/${waymark.projectId}/links`)
    // Without a session, there is only the sign-in.
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await page.goto(`${baseUrl}/console/sign-up`)
    await signUp(page)
    const failures = collectFailures(page)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    for (const place of ['', '/live', '/explore/trends', '/links?new=1', '/settings/keys', '/settings']) {
      await page.goto(`${baseUrl}/console/p/${waymark.projectId}${place}`)
      await page.getByRole('heading', { name: 'There is no such project' }).waitFor()
    }
    expect(asked.filter((url) => url.includes(`/api/projects/${waymark.projectId}`))).toEqual([])
    expect(failures).toEqual([])
    const answered = await page.evaluate<number[]>(
      `Promise.all(['links', 'events', 'profiles', 'coupon-pools', 'decisions'].map((resource) =>
        fetch('/api/projects/${waymark.projectId}/' + resource).then(({ status }) => status)))`,
    )
    expect(answered).toEqual([404, 404, 404, 404, 404])
    await context.close()
  })

  it.runIf(process.env.DOCS_SCREENSHOTS)(
    'has its pictures taken',
    async () => {
      await rm(PICTURES, { recursive: true, force: true })
      await mkdir(PICTURES, { recursive: true })
      const { page, context } = await openAsOwner()
      await page.setViewportSize({ width: 1280, height: 800 })
      const take = (name: string) => page.screenshot({ path: path.join(PICTURES, `${name}.png`) })
      for (const [name, place] of places.filter(([one]) => PICTURED.has(one))) {
        await open(page, place)
        await take(name.replaceAll(' ', '-'))
      }
      await page.emulateMedia({ colorScheme: 'dark' })
      await open(page, '')
      await take('home-dark')
      await page.setViewportSize({ width: 390, height: 800 })
      await open(page, '/links')
      await take('links-phone')
      await context.close()
    },
    120_000,
  )

  it('loses its demo data by one button, and keeps what was added', async () => {
    // A deletion needs a sign-in within 10 minutes.
    const { page, failures, context } = await signIn(waymark)
    const { id } = await post('links', { destination: 'https://shop.example/own', code: 'my-own' })
    await open(page, '')
    const banner = page.getByRole('region', { name: 'Demo data' })
    const confirm = page.getByRole('alertdialog')
    await banner.getByRole('button', { name: 'Remove demo data' }).click()
    await confirm.getByText('What you have added stays').waitFor()
    await confirm.getByRole('button', { name: 'Cancel' }).click()
    await confirm.waitFor({ state: 'detached' })
    expect((await list('links')).length).toBeGreaterThan(1)

    await banner.getByRole('button', { name: 'Remove demo data' }).click()
    await confirm.getByRole('button', { name: 'Remove demo data' }).click()
    await banner.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Send the first event' }).waitFor()
    // The button that had the focus has disappeared.
    await expect.poll(() => page.evaluate('document.activeElement?.id')).toBe('content')
    await open(page, '/links')
    const rows = page.getByRole('table', { name: 'Links' }).locator('tbody tr')
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining('my-own')])
    for (const [place, title] of [
      ['/people', 'No people yet'],
      ['/coupons', 'No coupons yet'],
      ['/dashboards', 'No dashboards yet'],
    ] as const) {
      await open(page, place)
      await page.getByRole('heading', { name: title }).waitFor()
    }
    expect((await list('links')).map((link) => link.id)).toEqual([id])
    expect(failures).toEqual([])
    await context.close()
  })
})
