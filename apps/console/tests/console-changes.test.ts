import { type Constellation, startStandalone } from '@waymark/testing'
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  CHROMIUM,
  expectFitting,
  forgetFailures,
  loaded,
  navigate,
  openConsole,
  scrollingTables,
} from './console-browser.ts'

describe.skipIf(CHROMIUM === undefined)('changes in the console', () => {
  let waymark: Constellation
  let browser: Browser
  let page: Page
  let project = ''
  let failures: string[] = []

  beforeAll(async () => {
    waymark = await startStandalone()
    const options = { reducedMotion: 'reduce', locale: 'en-GB' } as const
    ;({ browser, page, failures, project } = await openConsole(waymark, options))
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const main = () => page.getByRole('main')
  const dialog = () => page.getByRole('dialog', { name: /^(Create|Edit|Try|Sign)/ })
  const confirmation = () => page.getByRole('alertdialog')
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const open = async (place: string) => {
    await page.goto(`${project}${place}`)
    await loaded(page)
  }

  /** Posts to a path of the project as the user of the page, and resolves to the response. */
  const post = async <T>(path: string, body: object): Promise<T> => {
    const url = `/api/projects/${project.split('/').at(-1)}/${path}`
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    }
    return page.evaluate(
      `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then((response) => response.json())`,
    )
  }

  /** A key of a server with a scope. */
  const keyFor = async (scope: string): Promise<string> => {
    const { key } = await post<{ key: string }>('api-keys', { name: scope, kind: 'sec', scopes: [scope] })
    return key
  }

  const sendAs = (key: string, path: string, body: object): Promise<Response> =>
    waymark.request(path, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })

  const parameter = (name: string) => new URL(page.url()).searchParams.get(name)

  it('stays signed in while the account cannot be read', async () => {
    const json = { error: 'store_unavailable', message: 'Not this time' }
    await page.route('**/api/auth/me', (route) => route.fulfill({ status: 503, json }), { times: 1 })
    await page.goto(`${project}/links`)
    await page.getByRole('heading', { level: 1, name: 'Links' }).waitFor()
  })

  it('takes the number that is typed after the old one was deleted', async () => {
    for (const [place, label, typed, name, stored] of [
      ['/explore/trends?breakdown=utm.source', 'Groups at most', '3', 'limit', '3'],
      ['/explore/paths', 'Steps', '5', 'depth', '5'],
      ['/explore/paths', 'Ways at most', '20', 'limit', '20'],
      ['/explore/retention', 'Intervals after the first', '12', 'periods', '12'],
      ['/explore/funnel?windowSeconds=3600', 'Within', '240', 'windowSeconds', '864000'],
    ] as const) {
      await open(place)
      const field = page.getByLabel(label, { exact: true })
      await field.press('End')
      for (const _ of await field.inputValue()) await field.press('Backspace')
      await field.pressSequentially(typed)
      await expect.poll(() => parameter(name), { message: label }).toBe(stored)
      await field.blur()
      expect(await field.inputValue()).toBe(typed)
    }
    expect(await page.getByLabel('Unit').inputValue()).toBe('hours')

    await open('/people/segments?open=new')
    await button('Add count of events').click()
    const times = page.getByLabel('Times')
    await times.press('End')
    await times.press('Backspace')
    await times.pressSequentially('25')
    expect(await times.inputValue()).toBe('25')
  })

  it('keeps the focus on the button that saves, and saves only what was changed', async () => {
    await open('/settings')
    const settings = `/api/projects/${project.split('/').at(-1)}/settings`
    const ofAnother = { method: 'PATCH', headers: { 'Content-Type': 'application/json' } }
    await page.evaluate(
      `fetch('${settings}', ${JSON.stringify({ ...ofAnother, body: '{"identifyEvents":true}' })})`,
    )
    await page.getByLabel('Days to keep events').fill('30')
    await page.getByLabel('Days to remember event ids').fill('90')
    await button('Save settings').press('Enter')
    await page.getByText('Settings saved').first().waitFor()
    await loaded(page)
    expect(await page.evaluate('document.activeElement?.innerText')).toBe('Save settings')
    const stored = await page.evaluate(`fetch('${settings}').then((response) => response.json())`)
    expect(stored).toEqual({ identifyEvents: true, retentionDays: 30, deduplicationDays: 90 })

    await page.getByLabel('Key of the environment').fill('preview')
    await page.getByLabel('Key of the environment').press('Enter')
    await main().getByText('preview', { exact: true }).waitFor()
    await expect.poll(() => page.getByLabel('Key of the environment').inputValue()).toBe('')
    expect(await page.evaluate("document.activeElement?.getAttribute('name')")).toBe('key')
  })

  it('has a heading on each page whose data cannot be loaded, and retries', async () => {
    const id = '0198c1f4-7a50-7000-8000-000000000001'
    for (const [place, title] of [
      [`/dashboards/${id}`, 'Dashboard'],
      [`/people/${id}`, 'Person'],
      ['/people/segments/none', 'none'],
      [`/catalog/${id}`, 'Definition'],
      [`/links/${id}`, 'Link'],
      [`/links/domains/${id}`, 'Domain'],
      [`/coupons/${id}`, 'Pool'],
      ['/decisions/new', 'new'],
      [`/email/${id}`, 'Trigger'],
      [`/settings/webhooks/${id}`, 'Webhook'],
    ] as const) {
      await navigate(page, `${project}${place}`)
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      await main().getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor()
    }
    forgetFailures(failures, /status of 404/)

    const variants = [{ key: 'off', value: false }]
    await post('decisions', { key: 'new', name: 'Not a form', fallbackVariant: 'off', variants, rules: [] })
    await open('/decisions')
    await page.getByRole('link', { name: 'Not a form' }).click()
    await page.getByRole('heading', { level: 1, name: 'Not a form' }).waitFor()
  })

  it('shows a pool as it is after a redemption was rolled back', async () => {
    const { id } = await post<{ id: string }>('coupon-pools', {
      name: 'Spring',
      kind: 'unique',
      size: 1,
      discount: { type: 'percent', value: 10 },
    })
    await open(`/coupons/${id}`)
    await page.getByText('ready', { exact: true }).waitFor()
    const codes = page.getByRole('table', { name: 'Codes' })
    const code = await codes.locator('code').innerText()
    const order = { code, userId: 'user-1', orderId: 'order-1', amount: 5_000, currency: 'EUR' }
    expect((await sendAs(await keyFor('coupons:redeem'), '/api/v1/coupons/redeem', order)).status).toBe(200)
    await page.reload()
    await main().getByText('1 (100%)', { exact: true }).waitFor()
    await button('Roll back').click()
    await confirmation().getByRole('button', { name: 'Roll back' }).click()
    await main().getByText('0 (0%)', { exact: true }).waitFor()
    await codes.getByText('available', { exact: true }).waitFor()
  })

  it('shows what a cart gets in the currency that it was computed in', async () => {
    await button('Try a cart').click()
    await dialog().getByLabel('SKU').fill('tea')
    await dialog().getByLabel('Unit price').fill('50')
    await dialog().getByRole('button', { name: 'Compute the discount' }).click()
    const discount = dialog().getByRole('status').filter({ hasText: 'Discount:' })
    await discount.getByText('€5.00').first().waitFor()
    await dialog().getByLabel('Currency').fill('JPY')
    expect(await discount.innerText()).toContain('€5.00')
    await dialog().getByRole('button', { name: 'Compute the discount' }).click()
    await discount.getByText('JP¥5').first().waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
  })

  it('moves the focus to the table when the button that had it has disappeared', async () => {
    const codes = page.getByRole('table', { name: 'Codes' })
    await codes.getByRole('button', { name: 'Revoke' }).press('Enter')
    await confirmation().getByRole('button', { name: 'Revoke' }).press('Enter')
    await codes.getByText('revoked', { exact: true }).waitFor()
    const focused = () => page.evaluate("document.activeElement?.getAttribute('aria-label')")
    await expect.poll(focused).toBe('Codes')
  })

  it('shows a preview only in its environment, and until the decision changes', async () => {
    await post('decisions', {
      key: 'banner',
      name: 'Banner',
      fallbackVariant: 'off',
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
      ],
      rules: [{ variant: 'on' }],
    })
    await open('/decisions/banner?view=preview')
    const result = main().getByRole('status').filter({ hasText: 'Holdout' })
    await button('Show what they get').click()
    await result.getByText('DISABLED').first().waitFor()
    await page.getByLabel('Environment').selectOption('staging')
    await main().getByText('Name a person to see').waitFor()
    await page.getByLabel('Environment').selectOption('production')
    await result.waitFor()
    await button('Activate').click()
    await main().getByText('Name a person to see').waitFor()
    await button('Show what they get').click()
    await result.getByText('TARGETING_MATCH').first().waitFor()
    expect(await result.innerText()).toContain(
      'Applies, and gives on unless an earlier rule does. Condition met',
    )
  })

  it('offers no change of an archived decision', async () => {
    await button('Archive').click()
    await confirmation().getByRole('button', { name: 'Archive' }).click()
    await main().getByText('archived', { exact: true }).waitFor()
    expect(await button('Rules and variants').count()).toBe(0)
    await button('Schedule').click()
    await main().getByText('No scheduled changes').waitFor()
    expect(await button('Schedule a change').count()).toBe(0)
    await button('History').click()
    await page.getByRole('table', { name: 'Versions' }).getByText('current').waitFor()
    expect(await button('Restore').count()).toBe(0)
    await open('/decisions/banner?view=rules')
    await main().getByRole('button', { name: 'Results', exact: true }).waitFor()
    expect(await button('Save decision').count()).toBe(0)
  })

  it('keeps the focus in the search for people', async () => {
    await open('/people')
    const field = page.getByLabel('Id, email or trait')
    await field.fill('nobody')
    await field.press('Enter')
    await page.getByText('No one found for nobody').waitFor()
    expect(await page.evaluate("document.activeElement?.getAttribute('name')")).toBe('search')
    await page.goBack()
    await expect.poll(() => field.inputValue()).toBe('')
  })

  it('does not show an erased person again', async () => {
    const key = await keyFor('events:write')
    const person = { userId: 'user-2', visitorId: 'visitor-2' }
    expect((await sendAs(key, '/api/v1/t?sync=1', { eventName: 'seen', ...person })).status).toBe(200)
    const traits = { email: 'ben@shop.example' }
    expect((await sendAs(key, '/api/v1/identify?sync=1', { ...person, traits })).status).toBe(200)
    await open('/people?search=user-2')
    await page.getByRole('table', { name: 'Found people' }).getByRole('link').click()
    await main().getByText('ben@shop.example').first().waitFor()
    await button('Erase').click()
    await confirmation().getByRole('button', { name: 'Erase for good' }).click()
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await confirmation().waitFor({ state: 'detached' })
    expect(await main().getByText('user-2').count()).toBe(0)
    await page.goBack()
    await main().getByRole('alert').waitFor()
    expect(await main().getByText('ben@shop.example').count()).toBe(0)
    forgetFailures(failures, /status of 404/)
  })

  it('does not list an email that was just archived', async () => {
    const { id } = await post<{ id: string }>('email-triggers', {
      name: 'Welcome',
      eventName: 'seen',
      subject: 'Hello',
      html: '<p>Hello</p>',
    })
    await open('/email')
    await page.getByRole('link', { name: 'Welcome', exact: true }).click()
    await button('Archive').click()
    await confirmation().getByRole('button', { name: 'Archive' }).click()
    await page.getByRole('heading', { name: 'No emails yet' }).waitFor()
    await open(`/email/${id}`)
    await main().getByText('archived', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: /^(Save|Send to me)$/ }).count()).toBe(0)
  })

  /** Holds the answers to requests of a method until the returned function is called. */
  const hold = async (method: string) => {
    const held: Route[] = []
    const url = '**/api/projects/*/links**'
    await page.route(url, async (route) => {
      if (route.request().method() === method) held.push(route)
      else await route.fallback()
    })
    onTestFinished(() => page.unroute(url))
    return async () => {
      await expect.poll(() => held.length).toBe(1)
      const answered = page.waitForResponse((response) => response.request().method() === method)
      await held[0]?.continue()
      await (await answered).finished()
      await page
        .getByText(/^Link (saved|created)$/)
        .first()
        .waitFor()
    }
  }

  it('leaves the next page as it is when a slow change ends', async () => {
    const { id } = await post<{ id: string }>('links', { destination: 'https://shop.example/', code: 'slow' })
    await page.goto(`${project}/links/${id}?open=edit`)
    const saves = await hold('PATCH')
    await dialog().getByLabel('Campaign', { exact: true }).fill('autumn')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Explore', exact: true }).click()
    await page.getByLabel('Measure').selectOption('people')
    await expect.poll(() => parameter('series')).toContain('people')
    await saves()
    expect(parameter('series') ?? '').toContain('people')
  })

  it('opens nothing that was created when another page is open', async () => {
    await page.goto(`${project}/links?new=1`)
    const saves = await hold('POST')
    await dialog().getByLabel('Destination', { exact: true }).fill('https://shop.example/late')
    await dialog().getByRole('button', { name: 'Create link' }).click()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Coupons', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Coupons' }).waitFor()
    await saves()
    await navigate(page, `${project}/people`)
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('People')
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Coupons' }).waitFor()
  })

  const EVENTS = 60

  it('keeps events that arrive while older ones are loaded', async () => {
    const key = await keyFor('events:write')
    const send = (eventName: string) =>
      sendAs(key, '/api/v1/t?sync=1', { eventName, visitorId: `visitor-${'long'.repeat(10)}` })
    for (let number = 0; number < EVENTS; number++) expect((await send(`event_${number}`)).status).toBe(200)
    await open('/live')
    await page.getByRole('status').getByText('listening').waitFor()
    const held: Route[] = []
    const older = /\/events\?.*cursor=/
    await page.route(older, (route) => void held.push(route))
    onTestFinished(() => page.unroute(older))
    await button('Load more').click()
    await expect.poll(() => held.length).toBe(1)
    await send('arrived_meanwhile')
    await button('arrived_meanwhile').waitFor()
    await held[0]?.continue()
    await button('event_0').waitFor()
    expect(await button('arrived_meanwhile').count()).toBe(1)
  })

  it('shows only the newest of very many events', async () => {
    const { data } = await page.evaluate<{ data: object[] }>(
      `fetch('/api/projects/${project.split('/').at(-1)}/events?limit=1').then((response) => response.json())`,
    )
    const events = Array.from({ length: 1_199 }, (_, number) => ({
      ...data[0],
      eventId: `many-${number}`,
      eventName: number === 1_198 ? 'the_last' : 'one_of_many',
    }))
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const contentType = 'text/event-stream'
    await page.route('**/events/stream*', (route) =>
      route.fulfill({ contentType, body: `retry: 600000\n${body}` }),
    )
    await open('/live')
    await button('the_last').waitFor()
    await page.unroute('**/events/stream*')
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    expect(await rows.count()).toBeLessThanOrEqual(1_000)
  })

  it('fits names that are longer than the page is wide', async () => {
    const name = 'Long'.repeat(50)
    const query = { series: [{ metric: 'events' }], interval: 'day' }
    const insight = await post<{ id: string }>('insights', { name, kind: 'trends', query })
    const dashboard = await post<{ id: string }>('dashboards', { name, insightIds: [insight.id] })
    for (const place of [`/explore/trends?insight=${insight.id}`, `/dashboards/${dashboard.id}`]) {
      await open(place)
      await main().getByText(name).first().waitFor()
      await expectFitting(page, 390)
    }
    await open(`/people?search=${name}`)
    const title = page.getByRole('heading', { name: `No one found for ${name}` })
    const { x = 0, width = 0 } = (await title.boundingBox()) ?? {}
    expect(x + width).toBeLessThanOrEqual(390)

    const person = { visitorId: 'visitor'.repeat(20), context: { path: `/${name}` } }
    const event = { eventName: 'long_'.repeat(20), ...person }
    expect((await sendAs(await keyFor('events:write'), '/api/v1/t?sync=1', event)).status).toBe(200)
    for (const place of ['/live', '', '/people'])
      for (const size of [320, 390, 1_440]) {
        await open(place)
        await main().getByTitle(event.eventName).first().waitFor()
        await expectFitting(page, size)
        await expect.poll(() => scrollingTables(page), { message: `${place} at ${size} px` }).toEqual([])
      }
  })

  it('returns the focus of a dialog that is closed to the button that opened it', async () => {
    const query = { series: [{ metric: 'events' }], interval: 'day' }
    const made = [
      await post<{ id: string }>('insights', { name: 'Events', kind: 'trends', query }),
      await post<{ id: string }>('insights', { name: 'All events', kind: 'trends', query }),
    ]
    const insightIds = made.map((insight) => insight.id)
    const { id } = await post<{ id: string }>('dashboards', { name: 'Every morning', insightIds })
    for (const [place, name] of [
      ['/dashboards', 'Create dashboard'],
      [`/dashboards/${id}`, 'Rename'],
      ['/explore/trends', 'Save'],
      ['/explore/saved', 'Rename'],
    ] as const) {
      await open(place)
      await main().getByRole('button', { name, exact: true }).first().press('Enter')
      const opened = page.getByRole('dialog', { name: /^(Create|Rename|Save)/ })
      await opened.getByLabel('Name').waitFor()
      await expect.poll(() => page.evaluate("document.activeElement?.getAttribute('name')")).toBe('name')
      await page.keyboard.press('Escape')
      await opened.waitFor({ state: 'detached' })
      await expect
        .poll(() => page.evaluate('document.activeElement?.innerText'), { message: place })
        .toBe(name)
    }
    await open(`/dashboards/${id}`)
    await button('Add insight').press('Enter')
    await expect.poll(() => page.evaluate("document.activeElement?.getAttribute('name')")).toBe('insight')
    await page.keyboard.press('Escape')

    const orders = () =>
      page
        .getByRole('table', { name: 'Totals' })
        .evaluateAll((tables) => tables.map((table) => table.querySelectorAll('[aria-sort]').length))
    await page.getByRole('table', { name: 'Totals' }).last().getByRole('button', { name: 'Total' }).click()
    await expect.poll(orders).toEqual([0, 1])
  })

  it('guards a ramp, says what the guard will do, and resumes with a reason what it stopped', async () => {
    const body = {
      key: 'guarded',
      status: 'active',
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
      ],
      fallbackVariant: 'off',
      rules: [{ variant: 'on', ramp: [{ at: '2026-01-05T09:00:00Z', percentage: 5 }] }],
      metrics: [{ key: 'Ordered', eventName: 'order', kind: 'count', goal: 'up' }],
    }
    await post('decisions', body)
    await open('/decisions/guarded?view=rules')
    await button('Guard rule 1 by a metric').click()
    const sentence =
      'When Ordered is certainly more than 10% lower with on than with off, nobody gets on by this rule any more'
    await page.getByText(sentence).waitFor()
    await page.getByLabel('Then', { exact: true }).selectOption('hold the ramp')
    await page.getByText('the ramp stays at the percentage that it has reached').waitFor()
    await button('Add step').click()
    await page.getByLabel('People, step 1').fill('500')
    await button('Save decision').click()
    await page.getByText('Decision saved').first().waitFor()
    // The message covers no button that saves, wherever on the page that is.
    const isInFront = await button('Save decision').evaluate((element) => {
      element.scrollIntoView({ block: 'end' })
      const { x, y, width, height } = element.getBoundingClientRect()
      return element.contains(element.ownerDocument.elementFromPoint(x + width / 2, y + height / 2))
    })
    expect(isInFront).toBe(true)
    await open('/decisions/guarded?view=rules')
    expect(await page.getByLabel('Then', { exact: true }).inputValue()).toBe('hold')
    expect(await page.getByLabel('People, step 1').inputValue()).toBe('500')

    const stop = {
      environment: 'production',
      ruleId: 'r',
      metric: 'Ordered',
      worseThan: 10,
      action: 'hold',
      at: '2026-01-06T09:00:00.000Z',
      variant: 'on',
      control: 'off',
      percentage: 5,
      people: { variant: 600, control: 600 },
      value: { variant: 0.1, control: 0.5 },
      lift: -0.8,
      interval: [-0.9, -0.7],
    }
    const url = '**/api/projects/*/decisions/guarded'
    await page.route(url, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), stops: [stop] } })
    })
    const reasons: unknown[] = []
    await page.route(`${url}/resume*`, async (route) => {
      reasons.push(route.request().postDataJSON())
      await page.unroute(url)
      await route.fulfill({ json: body })
    })
    await open('/decisions/guarded')
    await page.getByText('The change is -80%, between -90% and -70%. The ramp stays at 5%.').waitFor()
    await button('Resume').click()
    const form = page.getByRole('dialog', { name: 'Resume what guards have stopped?' })
    await form.getByLabel('Reason').fill('It was the payment provider')
    await form.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Stopped by a guard').waitFor({ state: 'detached' })
    expect(reasons).toEqual([{ reason: 'It was the payment provider' }])
    await page.unroute(`${url}/resume*`)
  })

  it('has had no error, refused request or violation of its policy', () => {
    expect(failures).toEqual([])
  })
})
