import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Json } from '@waymark/testing'
import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, openConsole } from './console-browser.ts'

const DESKTOP =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const DAY_MS = 86_400_000
const TODAY = Math.floor(Date.now() / DAY_MS)

/** A time of day, some days ago, in UTC. */
const ago = (days: number, time: string): string =>
  `${new Date((TODAY - days) * DAY_MS).toISOString().slice(0, 10)}T${time}:00.000Z`

// Four people view products, three fill a cart, two order. Ada returns on the next day.
const EVENTS = [
  ['ada', 'product_viewed', ago(3, '10:00'), { color: 'red', price: 10 }],
  ['ada', 'cart_filled', ago(3, '10:05'), {}],
  ['ada', 'order_placed', ago(3, '10:10'), { total: 49 }],
  ['bob', 'product_viewed', ago(3, '10:01'), { color: 'blue', price: 5 }],
  ['bob', 'cart_filled', ago(3, '10:06'), {}],
  ['bob', 'order_placed', ago(3, '10:20'), { total: 10.5 }],
  ['cyd', 'product_viewed', ago(3, '10:02'), { color: 'blue', price: 7 }],
  ['cyd', 'cart_filled', ago(3, '10:07'), {}],
  ['ada', 'product_viewed', ago(2, '10:00'), { color: 'red', price: 20 }],
  ['dan', 'product_viewed', ago(2, '10:03'), { color: 'green', price: 1 }],
] as const

describe.skipIf(CHROMIUM === undefined)('exploring in Chromium', () => {
  let waymark: Constellation
  let browser: Browser
  let page: Page
  let baseUrl = ''
  let project = ''
  let failures: string[] = []

  /** Calls the API as the signed-in user. */
  const api = (method: string, resource: string, body?: unknown) =>
    page.evaluate(async ([place, init]) => (await (await fetch(place, init)).json()) as Json, [
      `/api/projects/${project.split('/').at(-1)}/${resource}`,
      {
        method,
        headers: { 'Content-Type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
    ] as const)

  const send = async () => {
    const { key } = await api('POST', 'api-keys', { name: 'test', kind: 'pub', scopes: ['events:write'] })
    for (const [visitorId, eventName, clientTimestamp, properties] of EVENTS) {
      const sessionId = `${visitorId}-${clientTimestamp.slice(0, 10)}`
      const { status } = await fetch(`${baseUrl}/api/v1/t?sync=1`, {
        method: 'POST',
        // Scripts count as bots.
        headers: { 'X-API-Key': `${key}`, 'Content-Type': 'application/json', 'User-Agent': DESKTOP },
        body: JSON.stringify({ visitorId, sessionId, eventName, clientTimestamp, properties }),
      })
      expect(status).toBe(200)
    }
    await eventually('all events are counted', async () => {
      const range = { from: ago(10, '00:00'), to: new Date().toISOString(), interval: 'day' }
      const asked = await api('POST', 'analytics/trends', { ...range, series: [{ metric: 'events' }] })
      return (asked.series as Json[])[0]?.total === EVENTS.length
    })
  }

  beforeAll(async () => {
    waymark = await startStandalone()
    ;({ baseUrl, browser, page, failures, project } = await openConsole(waymark, {
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
      locale: 'en-GB',
    }))
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const group = (name: string) => page.getByRole('group', { name, exact: true })
  const table = (name: string) => page.getByRole('table', { name, exact: true })
  /** Selects a suggestion of a field. */
  const pick = async (field: ReturnType<Page['getByRole']>, value: string) => {
    await field.click()
    await page.getByRole('option', { name: value, exact: true }).click()
  }
  /** The texts of a table's rows, once they match. */
  const expectRows = (name: string, expected: string[]) =>
    expect
      .poll(async () =>
        (await table(name).locator('tbody tr').allInnerTexts()).map((row) => row.replace(/\s+/g, ' ')),
      )
      .toEqual(expected)

  it('shows how to send the first event', async () => {
    await link('Explore').click()
    await page.getByRole('heading', { level: 1, name: 'Explore' }).waitFor()
    await link('Funnel').click()
    await page.getByRole('region', { name: 'Command that sends an event' }).waitFor()
    await send()
  })

  it('measures a trend that is filtered, grouped and kept in the URL', async () => {
    await page.goto(`${project}/explore`)
    const series = group('Series 1')
    await pick(series.getByLabel('Event'), 'product_viewed')
    await expectRows('Totals', ['product_viewed 5'])
    await series.getByLabel('Measure').selectOption({ label: 'People' })
    await expectRows('Totals', ['People of product_viewed 4'])

    await button('Add filter').click()
    const filter = group('Filter 1')
    await pick(filter.getByLabel('Property'), 'properties.color')
    await filter.getByLabel('Comparison').selectOption({ label: 'is not' })
    await pick(filter.getByLabel('Value'), 'green')
    await expectRows('Totals', ['People of product_viewed 3'])

    await pick(page.getByLabel('Group by'), 'properties.color')
    await expectRows('Totals', ['blue 2', 'red 1'])
    await page.reload()
    await expectRows('Totals', ['blue 2', 'red 1'])
    await button('Remove filter 1').click()
    await expectRows('Totals', ['blue 2', 'green 1', 'red 1'])
    await page.getByLabel('Groups at most').fill('1')
    await expectRows('Totals', ['blue 2', 'all others 2'])
  })

  it('opens the people of a value, and one of them', async () => {
    await table('Totals').getByRole('button', { name: '2, show the people' }).first().click()
    const sheet = page.getByRole('dialog', { name: 'blue' })
    await sheet.getByRole('link', { name: 'cyd' }).waitFor()
    expect(await sheet.getByRole('link').allInnerTexts()).toEqual(['cyd', 'bob'])
    await sheet.getByRole('link', { name: 'bob' }).click()
    await page.getByText('order_placed').first().waitFor()
  })

  it('opens the people of a point of the chart', async () => {
    await page.goto(`${project}/explore?series=[{"eventName":"product_viewed","metric":"people"}]`)
    const plot = page.getByRole('figure').locator('.u-over')
    const { width = 0 } = (await plot.boundingBox()) ?? {}
    // The last of 30 points is today's, and the events are from three days before the beginning of this test.
    const point = 26 - (Math.floor(Date.now() / DAY_MS) - TODAY)
    await plot.click({ position: { x: (width * point) / 29, y: 40 } })
    await page
      .getByRole('dialog', { name: /^People of product_viewed, / })
      .getByRole('link', { name: 'cyd' })
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await button('As curl').click()
    const command = page.getByRole('region', { name: 'Command that runs this query' })
    expect(await command.innerText()).toContain('/analytics/trends')
    await page.keyboard.press('Escape')
    await page.getByLabel('Time range').selectOption({ label: 'Today' })
    await expect.poll(() => page.getByLabel('Interval').inputValue()).toBe('hour')
  })

  it('measures a number property', async () => {
    await page.goto(`${project}/explore`)
    const series = group('Series 1')
    await pick(series.getByLabel('Event'), 'order_placed')
    await series.getByLabel('Measure').selectOption({ label: 'Sum of a property' })
    await page.getByRole('heading', { name: 'Choose a property' }).waitFor()
    await pick(series.getByLabel('Number property'), 'properties.total')
    await expectRows('Totals', ['Sum of properties.total of order_placed 59.5'])
    await page.getByRole('switch', { name: 'Compare with the period before' }).click()
    await expectRows('Totals', ['Sum of properties.total of order_placed 59.5 0 –'])
  })

  it('shows a funnel', async () => {
    await page.goto(`${project}/explore`)
    await link('Funnel').click()
    await pick(group('Step 1').getByLabel('Event'), 'product_viewed')
    await pick(group('Step 2').getByLabel('Event'), 'cart_filled')
    await button('Add step').click()
    await pick(group('Step 3').getByLabel('Event'), 'order_placed')
    await expectRows('Steps', [
      '1. product_viewed 4 100% 100% –',
      '2. cart_filled 3 75% 75% 5 mins',
      '3. order_placed 2 50% 66.7% 9.5 mins',
    ])
    await page.getByLabel('Within').fill('12')
    await page.getByLabel('Unit').selectOption('minutes')
    await expectRows('Steps', [
      '1. product_viewed 4 100% 100% –',
      '2. cart_filled 3 75% 75% 5 mins',
      '3. order_placed 1 25% 33.3% 5 mins',
    ])
    await pick(page.getByLabel('Group by'), 'properties.color')
    await table('Groups').getByRole('button', { name: 'properties.color' }).click()
    await expectRows('Groups', ['blue 2 2 100% 0 0%', 'green 1 0 0% 0 0%', 'red 1 1 100% 1 100%'])
  })

  it('saves a funnel, changes it, and shows it on a dashboard', async () => {
    await link('Dashboards').click()
    await button('Create dashboard').first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('Every morning')
    await button('Create').click()
    await page.getByRole('heading', { level: 1, name: 'Every morning' }).waitFor()
    await page.goto(`${project}/explore/funnel`)
    await pick(group('Step 1').getByLabel('Event'), 'product_viewed')
    await pick(group('Step 2').getByLabel('Event'), 'order_placed')
    await button('As curl').click()
    await page.getByRole('region', { name: 'Command that runs this query' }).waitFor()
    await page.keyboard.press('Escape')
    await button('Save').click()
    const dialog = page.getByRole('dialog', { name: 'Save insight' })
    await page.reload()
    await dialog.getByLabel('Name').fill('From seeing to buying')
    await dialog.getByLabel('Dashboard').selectOption({ label: 'Every morning' })
    await dialog.getByRole('button', { name: 'Save insight' }).click()
    await button('Save as new').waitFor()
    await dialog.waitFor({ state: 'detached' })

    await pick(group('Step 2').getByLabel('Event'), 'cart_filled')
    await button('Save changes').click()
    await button('Save changes').waitFor({ state: 'detached' })

    await link('Dashboards').click()
    await link('Every morning').click()
    await link('From seeing to buying').waitFor()
    await page.getByText('75% come to the last step').waitFor()
    await page.getByLabel('Time range', { exact: true }).selectOption({ label: 'Today' })
    await page.getByText('0% come to the last step').waitFor()
    await link('From seeing to buying').click()
    await page.getByRole('heading', { name: 'No one took the first step' }).waitFor()
    await page.getByLabel('Time range', { exact: true }).selectOption({ label: 'Last 7 days' })
    await expectRows('Steps', ['1. product_viewed 4 100% 100% –', '2. cart_filled 3 75% 75% 5 mins'])
  })

  it('shows retention', async () => {
    await page.goto(`${project}/explore/retention`)
    await pick(page.getByLabel('They begin with'), 'product_viewed')
    await pick(page.getByLabel('They come back for'), 'product_viewed')
    await page.getByLabel('Intervals after the first').fill('2')
    await expect
      .poll(async () => {
        const rows = await table('Cohorts').locator('tbody tr').allInnerTexts()
        return rows.map((row) => row.replace(/\s+/g, ' ').replace(/^.* \d{4} /, ''))
      })
      .toEqual(['3 100% 33.3% 0%', '1 100% 0% 0%'])
    await table('Cohorts').getByRole('button', { name: '3, show the people' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'cyd' }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('shows paths', async () => {
    await page.goto(`${project}/explore/paths`)
    await expectRows('Ways', ['1 product_viewed cart_filled 3', '2 cart_filled order_placed 2'])
    await pick(page.getByLabel('Beginning with'), 'cart_filled')
    await expectRows('Ways', ['1 cart_filled order_placed 2'])
    await button('Save').click()
    const dialog = page.getByRole('dialog', { name: 'Save insight' })
    await dialog.getByLabel('Name').fill('After the cart')
    await dialog.getByRole('button', { name: 'Save insight' }).click()
    await button('Add to dashboard').click()
    await page.getByRole('dialog').getByLabel('Dashboard').selectOption({ label: 'Every morning' })
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click()
    await page.getByText('After the cart is on Every morning').waitFor()
  })

  it('renames and deletes an insight, which leaves its dashboard', async () => {
    await link('Saved').click()
    const row = table('Insights').getByRole('row', { name: 'After the cart' })
    await row.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Then what')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    const renamed = table('Insights').getByRole('row', { name: 'Then what' })
    await renamed.getByRole('button', { name: 'Delete' }).click()
    await button('Delete insight').click()
    await renamed.waitFor({ state: 'detached' })
    await link('Dashboards').click()
    await link('Every morning').click()
    await expect
      .poll(() => page.getByRole('list', { name: 'Insights' }).locator('h2').allInnerTexts())
      .toEqual(['From seeing to buying'])
  })

  it('sends a dashboard by email to those who subscribe, and one at once to look at', async () => {
    await link('Dashboards').first().click()
    await link('Subscriptions').click()
    await button('Create subscription').first().click()
    const dialog = page.getByRole('dialog', { name: 'Create subscription' })
    await dialog.getByLabel('Name').fill('Shop every Monday')
    await dialog.getByRole('button', { name: 'Create subscription' }).click()
    await page.getByRole('heading', { level: 1, name: 'Shop every Monday' }).waitFor()
    await button('Send me one now').click()
    await eventually('the email was sent', () =>
      readdirSync(waymark.mailDir).some((file) =>
        readFileSync(path.join(waymark.mailDir, file), 'utf8')
          .replaceAll('=\r\n', '')
          .includes('Shop every Monday'),
      ),
    )
    await page.getByText('The first email is about the period that ends next.').waitFor()
    await link('Subscriptions').click()
    await table('Subscriptions').getByRole('row', { name: 'Shop every Monday' }).waitFor()
    await link('Dashboards').first().click()
    await link('Every morning').click()
  })

  it('arranges and renames a dashboard', async () => {
    const asked = await api('POST', 'insights', {
      name: 'Seen',
      kind: 'trends',
      query: { series: [{ eventName: 'product_viewed', metric: 'events' }], interval: 'day' },
    })
    expect(asked.id).toBeTypeOf('string')
    await page.reload()
    await button('Add insight').click()
    await page.getByRole('dialog').getByLabel('Insight').selectOption({ label: 'Seen (trends)' })
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click()
    await expectRows('Totals', ['product_viewed 5'])
    await button('Move Seen up').click()
    const titles = () => page.getByRole('list', { name: 'Insights' }).locator('h2').allInnerTexts()
    await expect.poll(titles).toEqual(['Seen', 'From seeing to buying'])
    await page.reload()
    await expect.poll(titles).toEqual(['Seen', 'From seeing to buying'])
    await button('Rename').click()
    await page.getByRole('dialog').getByLabel('Name').fill('Every evening')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('heading', { level: 1, name: 'Every evening' }).waitFor()
  })

  it('deletes a dashboard after asking', async () => {
    await button('Delete').click()
    await button('Delete dashboard').click()
    await page.getByRole('heading', { name: 'No dashboards yet' }).waitFor()
  })

  it('notes what happened on the chart of trends, and deletes the note', async () => {
    await page.goto(`${project}/explore`)
    await button('Add note').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What happened').fill('Deployed 1.4.0')
    await dialog.getByLabel('When').fill(ago(2, '10:30').slice(0, 16))
    await dialog.getByRole('button', { name: 'Add note' }).click()
    const note = page.getByRole('listitem').filter({ hasText: 'Deployed 1.4.0' })
    await note.waitFor()
    await page.reload()
    await note.waitFor()
    expect(
      (await api('GET', `annotations?from=${ago(3, '00:00')}&to=${ago(1, '00:00')}`)).data,
    ).toMatchObject([{ text: 'Deployed 1.4.0', at: ago(2, '10:30') }])
    await note.getByRole('button', { name: 'Delete' }).click()
    await button('Delete note').click()
    await expect.poll(() => note.count()).toBe(0)
  })

  it('has had no error, refused request or violation of its policy', () => {
    expect(failures).toEqual([])
  })
})
