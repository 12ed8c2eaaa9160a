import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startStandalone } from '@waymark/testing'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, collectFailures, expectAccessible, loaded, openConsole } from './console-browser.ts'

const PASSWORD = 'open sesame'
const VISITORS = 6
const HOUR_MS = 3_600_000

describe.skipIf(!CHROMIUM)('shared links', () => {
  let waymark: Awaited<ReturnType<typeof startStandalone>>
  let opened: Awaited<ReturnType<typeof openConsole>>
  let stranger: BrowserContext
  const sites: Server[] = []
  let frame = ''

  const openSite = (): string => {
    const site = createServer((_req, res) => {
      res.setHeader('Content-Type', 'text/html')
      res.end(`<title>Wiki</title><iframe src="${frame}" width="1200" height="900"></iframe>`)
    }).listen(0)
    sites.push(site)
    return `127.0.0.1:${(site.address() as AddressInfo).port}`
  }

  /** A request of the signed-in user. */
  const manage = async <T>(resource: string, data: object): Promise<T> => {
    const { page, baseUrl, project } = opened
    const response = await page.request.post(
      `${baseUrl}/api/projects/${project.split('/').at(-1)}/${resource}`,
      {
        headers: { Origin: baseUrl },
        data,
      },
    )
    expect([resource, response.status()]).toEqual([resource, 201])
    return (await response.json()) as T
  }

  beforeAll(async () => {
    waymark = await startStandalone({ REGISTRATION_MODE: 'open' })
    opened = await openConsole(waymark, { reducedMotion: 'reduce' })
    stranger = await opened.browser.newContext({ reducedMotion: 'reduce' })
    const { key } = await manage<{ key: string }>('api-keys', {
      name: 'Shop',
      kind: 'sec',
      scopes: ['events:write'],
    })
    const events = Array.from({ length: VISITORS }, (_, n) => ({
      eventName: 'page_view',
      eventId: `view-${n}`,
      visitorId: `visitor-${n}`,
      clientTimestamp: new Date(Date.now() - HOUR_MS).toISOString(),
      properties: { url: 'https://shop.example/sale', size: 'M', person: `person-${n}` },
    }))
    const stored = await waymark.request('/api/v1/t?sync=1', {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ events }),
    })
    expect(stored.status).toBe(200)
  })
  afterAll(async () => {
    await opened?.browser.close()
    for (const site of sites) site.close()
    await waymark?.stop()
  })

  it('show the web analytics in the frames of allowed sites, with the password, until they are revoked', async () => {
    const { page, project, failures } = opened
    const [allowed, refused] = [openSite(), openSite()]
    await page.goto(`${project}/web`)
    await loaded(page)
    await page.getByRole('button', { name: 'Share', exact: true }).click()
    await page.getByText('No links yet').waitFor()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('Sites that may show it in a frame').fill(allowed)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create link' }).click()
    const address = page.getByText(/\/shared\/[\w-]{43}$/)
    await address.waitFor()
    // The console knows its public address only where it is set.
    frame = `${opened.baseUrl}${new URL((await address.textContent())?.trim() ?? '').pathname}`
    await page.getByRole('button', { name: 'Close' }).click()

    const wiki = await stranger.newPage()
    const wikiFailures = collectFailures(wiki)
    await wiki.goto(`http://${allowed}/`)
    const inside = wiki.frameLocator('iframe')
    await inside.getByRole('heading', { name: 'This link needs a password' }).waitFor()
    expect(wikiFailures.filter((one) => !one.includes('status of 403'))).toEqual([])
    await inside.getByLabel('Password').fill('open barley')
    await inside.getByRole('button', { name: 'Open' }).click()
    await inside.getByText('The password is wrong').waitFor()
    await inside.getByLabel('Password').fill(PASSWORD)
    await inside.getByRole('button', { name: 'Open' }).click()
    const visits = inside.getByRole('button', { name: /^Visits/ })
    await expect.poll(() => visits.textContent()).toMatch(new RegExp(`^Visits${VISITORS}`))
    expect(await inside.getByRole('table', { name: 'Page' }).getByRole('button').allTextContents()).toEqual([
      '/sale',
    ])
    // Neither a menu nor anything else of the project.
    expect(await inside.getByRole('navigation').count()).toBe(0)
    expect(await inside.getByRole('button', { name: 'Share' }).count()).toBe(0)

    const other = await stranger.newPage()
    const violations: string[] = []
    other.on('console', (message) => violations.push(message.text()))
    await other.goto(`http://${refused}/`)
    await expect.poll(() => violations.join('\n')).toContain('frame-ancestors')
    expect(await other.frameLocator('iframe').getByRole('heading').allTextContents()).not.toContain(
      'This link needs a password',
    )

    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke link' }).click()
    await page.getByText('No links yet').waitFor()
    await inside.getByLabel('Time range').selectOption('7d')
    await inside.getByRole('heading', { name: 'This link does not work' }).waitFor()
    expect(failures).toEqual([])
  })

  it('change without another address', async () => {
    const { page, project, failures } = opened
    await manage('shares', {
      kind: 'web',
      name: 'Agency',
      password: PASSWORD,
      expiresAt: new Date(Date.now() + HOUR_MS).toISOString(),
      frameHosts: ['wiki.example'],
    })
    await page.goto(`${project}/web?share=1`)
    const row = page.getByRole('row', { name: /^Agency/ })
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog', { name: 'Change Agency' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Name').fill('The agency')
    await page.getByLabel('Expires').fill('')
    await page.getByLabel('The password').selectOption('Is removed')
    await page.getByLabel('Sites that may show it in a frame').fill('wiki.example, *.intranet.example')
    await page.getByRole('button', { name: 'Save' }).click()
    const changed = page.getByRole('row', { name: /^The agency/ })
    await changed.waitFor()
    expect(await changed.getByRole('cell').allTextContents()).toEqual([
      ...['The agency', 'Never', 'No', 'wiki.example, *.intranet.example', 'EditRevoke'],
    ])

    await changed.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Password').fill('short')
    await page.getByRole('button', { name: 'Save' }).click()
    expect(await page.getByRole('dialog', { name: 'Change The agency' }).isVisible()).toBe(true)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^The agency Never Yes/ }).waitFor()
    // Left as it is, nothing of the password changes.
    await changed.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^The agency Never Yes/ }).waitFor()
    expect(failures).toEqual([])
  })

  it('show a dashboard without ways to its people', async () => {
    const insight = await manage<{ id: string }>('insights', {
      name: 'Sizes',
      kind: 'trends',
      query: {
        series: [{ eventName: 'page_view', metric: 'people' }],
        interval: 'day',
        breakdown: 'properties.size',
      },
    })
    const people = await manage<{ id: string }>('insights', {
      name: 'Persons',
      kind: 'trends',
      query: {
        series: [{ eventName: 'page_view', metric: 'events' }],
        interval: 'day',
        breakdown: 'properties.person',
      },
    })
    const dashboard = await manage<{ id: string }>('dashboards', {
      name: 'Every morning',
      insightIds: [insight.id, people.id],
    })
    const { secret } = await manage<{ secret: string }>('shares', {
      kind: 'dashboard',
      name: 'For the board',
      dashboardId: dashboard.id,
    })
    const page = await stranger.newPage()
    const failures = collectFailures(page)
    await page.goto(`${opened.baseUrl}/shared/${secret}`)
    await page.getByRole('heading', { level: 1, name: 'Every morning' }).waitFor()
    const totals = page.getByRole('table', { name: 'Totals' })
    await expect.poll(() => totals.count()).toBe(2)
    expect(await totals.first().textContent()).toContain(`M${VISITORS}`)
    expect(await page.getByRole('main').textContent()).not.toContain('person-')
    expect(await page.getByRole('button', { name: 'show the people' }).count()).toBe(0)
    await expectAccessible(page)
    expect(failures).toEqual([])
  })

  it('answer 404 for what is none', async () => {
    const page = await stranger.newPage()
    const response = await page.goto(`${opened.baseUrl}/shared/${'x'.repeat(43)}`)
    expect(response?.status()).toBe(404)
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
  })
})
