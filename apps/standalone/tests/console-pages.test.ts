import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { eventually, startStandalone } from '@waymark/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, CHROMIUM_FLAGS, collectFailures, expectAccessible, loaded } from './console-browser.ts'

const PICTURES = path.resolve(import.meta.dirname, '../../../docs/images/console')
/** The element that makes the page wider than the window. */
const TOO_WIDE = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth)
  .map((element) => element.tagName + ' ' + element.className)`
/** Pages with screenshots in docs/console.md. */
const PICTURED = new Set(
  'home live trends dashboard people person catalog rejected links link coupons pool decisions decision email settings'.split(
    ' ',
  ),
)

describe.skipIf(CHROMIUM === undefined)('every page of the console with the demo data', () => {
  let waymark: Awaited<ReturnType<typeof startStandalone>>
  let browser: Browser
  let baseUrl = ''
  let places: readonly (readonly [name: string, place: string])[] = []

  beforeAll(async () => {
    waymark = await startStandalone({ WAYMARK_DEMO_DATA: 'on', REGISTRATION_MODE: 'open' })
    baseUrl = new URL((await waymark.request('/healthz')).url).origin
    await eventually('the demo data is there', async () => (await list('email-deliveries')).length === 3)
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: CHROMIUM_FLAGS })
    const idIn = async (resource: string) => (await list(resource))[0]?.id
    places = [
      ['home', ''],
      ['live', '/live'],
      ['trends', '/explore'],
      ['funnel', '/explore/funnel'],
      ['retention', '/explore/retention'],
      ['paths', '/explore/paths'],
      ['saved', '/explore/saved'],
      ['dashboards', '/dashboards'],
      ['dashboard', `/dashboards/${await idIn('dashboards')}`],
      ['people', '/people'],
      ['person', `/people/${await idIn('profiles?userId=demo-user-001')}`],
      ['catalog', '/catalog'],
      ['definition', `/catalog/${await idIn('event-definitions')}`],
      ['rejected', '/catalog/rejected'],
      ['dead-letters', '/catalog/dead-letters'],
      ['links', '/links'],
      ['link', `/links/${await idIn('links')}`],
      ['coupons', '/coupons'],
      ['redemptions', '/coupons/redemptions'],
      ['pool', `/coupons/${await idIn('coupon-pools')}`],
      ['decisions', '/decisions'],
      ['decision', '/decisions/demo-sale-banner'],
      ['email', '/email'],
      ['deliveries', '/email/deliveries'],
      ['suppressions', '/email/suppressions'],
      ['senders', '/email/senders'],
      ['settings', '/settings'],
      ['conversions', '/settings/conversions'],
      ['keys', '/settings/keys'],
      ['members', '/settings/members'],
      ['audit', '/settings/audit'],
      ['account', '/settings/account'],
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
    await page.getByRole('heading', { level: 1 }).waitFor()
    await loaded(page)
    await page.evaluate('document.fonts.ready')
  }

  it.each([
    [320, 'light'],
    [320, 'dark'],
    [1440, 'light'],
    [1440, 'dark'],
  ] as const)(
    'is accessible, whole and without errors at %i px in %s',
    async (width, colorScheme) => {
      const { page, failures, context } = await signIn(waymark)
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      for (const [name, place] of places) {
        await open(page, place)
        const tooWide = await page.evaluate<string[]>(TOO_WIDE)
        expect({ name, tooWide }).toEqual({ name, tooWide: [] })
        await expectAccessible(page)
      }
      expect(failures).toEqual([])
      await context.close()
    },
    240_000,
  )

  it('offers a viewer nothing that a viewer may not do, and refuses it', async () => {
    const viewer = { email: `${randomUUID()}@shop.example`, password: 'a long way to the shop' }
    const invitation = await waymark.request(`/api/projects/${waymark.projectId}/invitations`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: viewer.email, role: 'viewer' }),
    })
    const { token } = (await invitation.json()) as { token: string }
    const accepted = await fetch(`${baseUrl}/api/auth/invitations/accept`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: baseUrl },
      body: JSON.stringify({ token, name: 'Vera', password: viewer.password }),
    })
    expect(accepted.status).toBe(200)
    const { page, failures, context } = await signIn(viewer)
    const changes =
      /^(Create|New|Edit|Save|Archive|Pause|Activate|Import|Replay|Erase|Remove|Revoke|Rotate|Invite|Roll back|Top up|Rename|Add|Delete|Send)\b/
    // Editing a query changes no data, and everybody may edit their own account.
    const own = ['trends', 'funnel', 'retention', 'paths', 'keys', 'members', 'audit', 'account']
    for (const [name, place] of places.filter(([one]) => !own.includes(one))) {
      await open(page, place)
      const offered = await page
        .getByRole('main')
        .getByRole('button', { name: changes, disabled: false })
        .allInnerTexts()
      // Everybody may pause the list of events.
      const changing = offered.filter((label) => !(name === 'live' && label === 'Pause'))
      expect({ name, changing }).toEqual({ name, changing: [] })
    }
    await open(page, '')
    await page.getByText('This project holds demo data').waitFor()
    for (const place of ['/settings/keys', '/settings/members', '/settings/audit', '/email/senders']) {
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
        await take(name)
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
})
