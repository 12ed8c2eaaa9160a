import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { eventually, startStandalone } from '@waymark/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  CHROMIUM,
  collectFailures,
  expectAccessible,
  expectFitting,
  launchChromium,
  loaded,
  navigate,
  setTheme,
} from './console-browser.ts'

const run = promisify(execFile)
const PICTURES = path.resolve(import.meta.dirname, '../../../docs/images/console')
const WIDTHS = { phone: 320, tablet: 1024, desktop: 1440 }
/** Pages that every project has. */
const PLACES = [
  ['home', ''],
  ['live', '/live'],
  ['trends', '/explore'],
  ['funnel', '/explore/funnel'],
  ['retention', '/explore/retention'],
  ['paths', '/explore/paths'],
  ['saved', '/explore/saved'],
  ['dashboards', '/dashboards'],
  ['people', '/people'],
  ['catalog', '/catalog'],
  ['rejected', '/catalog/rejected'],
  ['dead-letters', '/catalog/dead-letters'],
  ['links', '/links'],
  ['campaigns', '/links/campaigns'],
  ['domains', '/links/domains'],
  ['coupons', '/coupons'],
  ['redemptions', '/coupons/redemptions'],
  ['decisions', '/decisions'],
  ['new-decision', '/decisions/new'],
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
  'saved dashboards catalog links campaigns domains coupons decisions email suppressions senders conversions webhooks'.split(
    ' ',
  ),
)
/** Queries of the demo data whose results have groups. */
const QUERIES = {
  trends: 'series=[{"eventName":"product_viewed","metric":"people"}]&breakdown=properties.category',
  funnel: 'steps=[{"eventName":"product_viewed"},{"eventName":"order_placed"}]&breakdown=properties.category',
  retention: 'startEvent=product_viewed&returnEvent=product_viewed',
}
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

  beforeAll(async () => {
    waymark = await startStandalone({ WAYMARK_DEMO_DATA: 'on', REGISTRATION_MODE: 'open' })
    baseUrl = new URL((await waymark.request('/healthz')).url).origin
    await eventually('the demo data is there', async () => (await list('email-deliveries')).length === 3)
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
    browser = await launchChromium()
    const idIn = async (resource: string) => (await list(resource))[0]?.id
    places = [
      ...PLACES,
      ['trends with groups', `/explore/trends?${QUERIES.trends}&compareTo=previous_period`],
      ['funnel with groups', `/explore/funnel?${QUERIES.funnel}`],
      ['retention of an event', `/explore/retention?${QUERIES.retention}`],
      ['dashboard', `/dashboards/${await idIn('dashboards')}`],
      ['person', `/people/${await idIn('profiles?userId=demo-user-001')}`],
      ['definition', `/catalog/${await idIn('event-definitions')}`],
      ['link', `/links/${await idIn('links')}`],
      ['domain', `/links/domains/${domainId}`],
      ['pool', `/coupons/${await idIn('coupon-pools')}`],
      ['decision', '/decisions/demo-sale-banner'],
      ['webhook', `/settings/webhooks/${webhookId}`],
      ['decision rules', '/decisions/demo-sale-banner?view=rules'],
    ]
    const [event] = (await list('events')) as unknown as { eventId: string }[]
    const pool = `/coupons/${await idIn('coupon-pools')}`
    const dashboard = `/dashboards/${await idIn('dashboards')}`
    dialogs = [
      `/live?event=${event?.eventId}`,
      '/dashboards?new=1',
      ...['rename', 'add'].map((name) => `${dashboard}?open=${name}`),
      '/catalog?new=1',
      `/catalog/${await idIn('event-definitions')}?open=edit`,
      `/catalog/rejected?row=${await idIn('rejected-events')}`,
      '/links?new=1',
      '/links?open=import',
      `/links/${await idIn('links')}?open=edit`,
      '/links/domains?open=add',
      `/links/domains/${domainId}?open=edit`,
      '/coupons?new=1',
      ...['edit', 'assign', 'top-up', 'import'].map((name) => `${pool}?open=${name}`),
      '/decisions/demo-sale-banner?view=history&row=1',
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
      '/settings/account?open=create',
    ]
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const list = async (resource: string) => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/${resource}`)
    return ((await response.json()) as { data: { id: string }[] }).data
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

  /** A browser with a signed-in user, and its errors. */
  const signIn = async ({ email, password }: { email: string; password: string }) => {
    const context = await browser.newContext({
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    const failures = collectFailures(page)
    await page.goto(`${baseUrl}/console/`)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    // The request for the current account was answered with 401 before the sign-in.
    failures.length = 0
    return { page, failures, context }
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
    const { page, failures, context } = await signIn(waymark)
    const project = await enter(page, waymark.projectId)
    for (const [, place] of places) {
      await navigate(page, `${project}${place}`)
      await expectFitting(page, WIDTHS.tablet)
      await expectFitting(page, WIDTHS.desktop)
      await expectAccessible(page)
      await setTheme(page, 'dark')
      await expectAccessible(page, 'colors')
      await expectFitting(page, WIDTHS.phone)
      await expectAccessible(page)
      await setTheme(page, 'light')
      await expectAccessible(page, 'colors')
    }
    expect(failures).toEqual([])
    await context.close()
  }, 300_000)

  it('opens every dialog by its URL, accessible and whole', async () => {
    const { page, failures, context } = await signIn(waymark)
    for (const place of dialogs) {
      await page.goto(`${baseUrl}/console/p/${waymark.projectId}${place}`)
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('heading', { level: 2 }).first().waitFor()
      await eventually('the dialog is loaded', async () => (await page.getByLabel('Loading').count()) === 0)
      for (const [theme, width] of [
        ['light', WIDTHS.desktop],
        ['dark', WIDTHS.phone],
      ] as const) {
        await setTheme(page, theme)
        await expectFitting(page, width)
        await expectAccessible(page)
      }
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    expect(failures).toEqual([])
    await context.close()
  }, 300_000)

  it('is accessible, whole and without errors in a project that holds nothing', async () => {
    const { page, failures, context } = await signIn(waymark)
    const created = await context.request.post(`${baseUrl}/api/projects`, {
      headers: { Origin: baseUrl },
      data: { name: 'Empty' },
    })
    const { id } = (await created.json()) as { id: string }
    const project = await enter(page, id)
    // Empty pages differ from those above by little, so they are checked once in each theme.
    for (const [, place] of PLACES) {
      await navigate(page, `${project}${place}`)
      await expectFitting(page, WIDTHS.desktop)
      await expectAccessible(page)
      await setTheme(page, 'dark')
      await expectFitting(page, WIDTHS.phone)
      await expectAccessible(page, 'colors')
      await setTheme(page, 'light')
    }
    expect(failures).toEqual([])
    await context.close()
  }, 300_000)

  it('shows in empty lists commands that create what is missing', async () => {
    const { page, failures, context } = await signIn(waymark)
    const create = async (path: string, data: object) => {
      const created = await context.request.post(`${baseUrl}/api/projects${path}`, {
        headers: { Origin: baseUrl },
        data,
      })
      expect(created.status()).toBe(201)
      return (await created.json()) as { id: string; key: string }
    }
    const { id } = await create('', { name: 'By API' })
    const keyWith = async (scope: string) =>
      (await create(`/${id}/api-keys`, { name: scope, kind: 'sec', scopes: [scope] })).key
    const keys = new Map([
      ['manage:write', await keyWith('manage:write')],
      ['manage:admin', await keyWith('manage:admin')],
    ])
    const project = await enter(page, id)
    const commands: string[] = []
    for (const [name, place] of PLACES.filter(([one]) => CREATED_BY_COMMAND.has(one))) {
      await navigate(page, `${project}${place}`)
      const command = await page.getByRole('region', { name: /^Command that/ }).innerText()
      expect({ name, command }).toEqual({ name, command: expect.stringContaining('<key with the scope') })
      commands.push(command.replace(/<key with the scope (.+?)>/, (_, scope) => keys.get(scope) ?? ''))
    }
    expect(commands).toHaveLength(CREATED_BY_COMMAND.size)
    for (const command of commands) {
      const { stdout } = await run('bash', ['-c', `${command} -s -w '\n%{http_code}'`])
      expect(stdout).toMatch(/\n201$/)
    }
    expect(failures).toEqual([])
    await context.close()
  }, 120_000)

  it('hides actions that a viewer may not do, and refuses them', async () => {
    const { page, failures, context } = await signIn(await addMember('viewer'))
    const changes =
      /^(Create|New|Edit|Save|Archive|Assign|Pause|Activate|Import|Replay|Erase|Remove|Revoke|Rotate|Invite|Roll back|Top up|Rename|Add|Delete|Send|Verify|Check)\b/
    // Editing a query changes no data, and everyone may edit their own account.
    const own = /^(trends|funnel|retention|paths|keys|members|audit|account|new-)/
    for (const [name, place] of places.filter(([one]) => !own.test(one))) {
      await open(page, place)
      const offered = await page
        .getByRole('main')
        .getByRole('button', { name: changes, disabled: false })
        .allInnerTexts()
      // Everyone may pause the list of events.
      const changing = offered.filter((label) => !(name === 'live' && label === 'Pause'))
      expect({ name, changing }).toEqual({ name, changing: [] })
    }
    const forms = dialogs.filter((one) => /[?&](new|open|edit)=/.test(one) && !one.includes('/account'))
    expect(forms.length).toBeGreaterThan(15)
    for (const place of forms) {
      await open(page, place)
      expect({ place, dialogs: await page.getByRole('dialog').count() }).toEqual({ place, dialogs: 0 })
    }
    await open(page, '')
    await page.getByText('This project holds demo data').waitFor()
    const restricted = places.filter(([, place]) =>
      /^.(settings.(webhooks|keys|members|audit)|email.senders)/.test(place),
    )
    expect(restricted).toHaveLength(6)
    for (const [, place] of restricted) {
      await open(page, place)
      await page.getByRole('main').getByText(/admin/i).first().waitFor()
    }
    expect(failures).toEqual([])

    const refused = await page.evaluate<number>(
      `fetch('/api/projects/${waymark.projectId}/demo-data', { method: 'DELETE' }).then(({ status }) => status)`,
    )
    expect(refused).toBe(403)
    await context.close()
  }, 120_000)

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
  }, 60_000)

  it.runIf(process.env.DOCS_SCREENSHOTS)(
    'has its pictures taken',
    async () => {
      await rm(PICTURES, { recursive: true, force: true })
      await mkdir(PICTURES, { recursive: true })
      const { page, context } = await signIn(waymark)
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
  }, 120_000)
})
