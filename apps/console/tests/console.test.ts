import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import { generate } from 'otplib'
import type { Browser, Page } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  CHROMIUM,
  collectFailures,
  expectAccessible,
  forgetFailures,
  launchChromium,
  loaded,
  navigate,
  signUp,
} from './console-browser.ts'

const run = promisify(execFile)
const DIST = path.resolve(import.meta.dirname, '../dist')
const MAX_FIRST_LOAD_BYTES = 250_000
it.runIf(CHROMIUM === undefined && process.env.CI)('finds Chromium in CI', () => {
  expect.fail('No Chromium is installed: run apt-get install chromium')
})

describe.skipIf(CHROMIUM === undefined)('the console in Chromium', () => {
  let waymark: Constellation
  let browser: Browser
  let page: Page
  let baseUrl = ''
  let project = ''
  let failures: string[] = []

  beforeAll(async () => {
    waymark = await startStandalone({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' })
    baseUrl = new URL((await waymark.request('/healthz')).url).origin
    browser = await launchChromium()
    // Colors are those of the style only when no transition is running.
    page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    failures = collectFailures(page)
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const open = async (place: string, title: string) => {
    await navigate(page, `${project}${place}`)
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
  }

  it('guides from the registration to the first event', async () => {
    await page.goto(baseUrl)
    await page.getByRole('link', { name: 'Sign up' }).click()
    await signUp(page)
    await page.getByRole('heading', { name: 'Send the first event' }).waitFor()
    project = page.url().replace(/\/$/, '')

    await button('Create a key for this command').click()
    const command = page.getByRole('region', { name: 'Command that sends an event' })
    await command.getByText('wm_pub_').waitFor()
    await run('bash', ['-c', await command.innerText()])
    await page.getByRole('link', { name: 'Live', exact: true }).click()
    await button('signed_up').click()
    await page.getByRole('dialog').getByText('"plan": "free"').waitFor()
    await page.reload()
    await page.getByRole('dialog').getByText('"plan": "free"').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    await page.getByText('Consumer lag').click()
    const lag = page.getByRole('table', { name: 'Lag of each consumer group' })
    await lag.getByRole('row', { name: /^enrichment \d+$/ }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Waiting in the outbox' }).getByText('none').waitFor()
    // Queries leave events of bots out.
    await open('/explore/trends?series=[{"eventName":"signed_up","metric":"events"}]', 'Explore')
    await page.getByRole('table', { name: 'Totals' }).getByRole('row', { name: 'signed_up 1' }).waitFor()
    await open('/live', 'Live')
  })

  it('reports events that it left out', async () => {
    const gap = { dropped: 1_234, from: '2026-11-21T04:00:00.000Z', to: '2026-11-21T04:00:01.000Z' }
    const body = `retry: 600000\nevent: gap\ndata: ${JSON.stringify(gap)}\n\n`
    await page.route('**/events/stream*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body }),
    )
    await page.reload()
    await page.getByText('1,234 events arrived too fast to be shown').waitFor()
    await page.unroute('**/events/stream*')
  })

  it('shows events as they arrive, and requests none while it is paused', async () => {
    const key = /wm_pub_\w+/.exec(await page.evaluate<string>('JSON.stringify(sessionStorage)'))?.[0] ?? ''
    const send = (eventName: string) =>
      fetch(`${baseUrl}/api/v1/t`, {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ eventName, visitorId: 'visitor-1' }),
      })
    const stream = page.waitForResponse((response) => response.url().includes('/events/stream'))
    await page.reload()
    expect((await stream).status()).toBe(200)
    await page.getByRole('status').getByText('listening').waitFor()
    expect((await send('arrived_live')).status).toBe(202)
    await button('arrived_live').waitFor()

    const closed = page.waitForEvent('requestfailed', (request) => request.url().includes('/events/stream'))
    await button('Pause').click()
    await closed
    await send('not_seen')
    // A link to the page pauses it too.
    await page.reload()
    await page.getByRole('status').getByText('paused').waitFor()
    const reopened = page.waitForResponse((response) => response.url().includes('/events/stream'))
    await button('Go on').click()
    await reopened
    // Events received meanwhile are read when it resumes.
    await button('not_seen').waitFor()
  })

  it('exports the events that its filters match', async () => {
    await page.getByLabel('Event name').fill('arrived_live')
    await button('Export events').click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByLabel('Event name').inputValue()).toBe('arrived_live')
    await dialog.getByLabel('Time range').selectOption({ label: 'Last 7 days' })
    await dialog.getByRole('button', { name: 'Add filter' }).click()
    const filter = dialog.getByRole('group', { name: 'Filter 1' })
    await filter.getByLabel('Property').fill('eventName')
    await filter.getByLabel('Value').fill('arrived_live')
    await dialog.getByLabel('Events at most').fill('10')
    await dialog.getByText('As curl').click()
    await dialog
      .getByRole('region', { name: 'Command that exports these events' })
      .getByText('eventName=arrived_live')
      .waitFor()
    const contentsAs = async (format: string) => {
      await dialog.getByLabel('Format').selectOption({ label: format })
      const download = page.waitForEvent('download')
      await dialog.getByRole('link', { name: 'Download' }).click()
      return readFile(await (await download).path())
    }
    const [line, ...others] = `${await contentsAs('JSON lines')}`.trimEnd().split('\n')
    expect(others).toEqual([])
    expect(JSON.parse(line ?? '')).toMatchObject({ eventName: 'arrived_live', visitorId: 'visitor-1' })
    await button('Export events').click()
    expect((await contentsAs('Parquet')).subarray(0, 4).toString()).toBe('PAR1')
    await page.getByLabel('Event name').fill('')
  })

  it('creates a link that redirects to its destination', async () => {
    await open('/links', 'Links')
    await button('Create link').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Destination').fill('https://shop.example/sale')
    await dialog.getByLabel('Code').fill('autumn-sale')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await page.getByRole('heading', { level: 1, name: 'autumn-sale' }).waitFor()
    const followed = await fetch(`${baseUrl}/s/autumn-sale`, { redirect: 'manual' })
    expect(followed.headers.get('Location')).toContain('https://shop.example/sale')
  })

  /** Redeems by a new key, and resolves to the status. */
  const redeemsWith = async (keyName: string) => {
    const created = await page.evaluate<{ key: string }>(
      `fetch('/api/projects/${project.split('/').at(-1)}/api-keys', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: '${keyName}', kind: 'sec', scopes: ['coupons:redeem'] }),
      }).then((response) => response.json())`,
    )
    return async (body: object): Promise<number> => {
      const answer = await fetch(`${baseUrl}/api/v1/coupons/redeem`, {
        method: 'POST',
        headers: { 'X-API-Key': created.key, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      return answer.status
    }
  }

  it('generates a pool of coupons, and shows who redeemed a code', async () => {
    await open('/coupons', 'Coupons')
    await button('Create pool').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Autumn')
    await dialog.getByLabel('How many').fill('20')
    await dialog.getByRole('button', { name: 'Create pool' }).click()
    await page.getByRole('heading', { level: 1, name: 'Autumn' }).waitFor()
    await page.getByText('ready', { exact: true }).waitFor()

    const code = await page.getByRole('table', { name: 'Codes' }).locator('code').first().innerText()
    const asShop = await redeemsWith('Shop')
    const redeem = (orderId: string) =>
      asShop({ code, visitorId: 'visitor-1', orderId, amount: 2_000, currency: 'EUR' })
    expect(await redeem('order-1')).toBe(200)
    expect(await redeem('order-2')).toBe(409)
    await open('/coupons/redemptions', 'Coupons')
    const row = page.getByRole('table', { name: 'Redemptions' }).getByRole('row', { name: code })
    await row.getByRole('cell', { name: '€20.00', exact: true }).waitFor()
    await row.getByRole('button', { name: 'Roll back' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Roll back' }).click()
    await row.getByText('rolled back').waitFor()
    expect(await redeem('order-3')).toBe(200)
  })

  it('edits the discount, the rules and the budget of a pool, and tries a cart', async () => {
    await open('/coupons', 'Coupons')
    await page.getByRole('link', { name: 'Autumn', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Autumn' }).waitFor()
    await button('Edit discount and rules').click()
    const edit = page.getByRole('dialog', { name: 'Discount and rules' })
    await edit.getByLabel('Percent', { exact: true }).fill('50')
    await edit.getByLabel('Largest discount').fill('20')
    await edit.getByLabel('Minimum of the cart').fill('30')
    await edit.getByLabel('Only these categories').fill('clothes\nshoes')
    await edit.getByLabel('Budget').fill('1000')
    await expectAccessible(page)
    await edit.getByRole('button', { name: 'Save' }).click()
    await page.getByText('50% off, at most €20.00').first().waitFor()
    await page.getByText('clothes, shoes').waitFor()
    await page.getByRole('progressbar', { name: '€0.00 of €1,000.00 granted' }).waitFor()

    await button('Try a cart').click()
    const cart = page.getByRole('dialog', { name: 'Try a cart' })
    await cart.getByLabel('SKU').fill('shirt')
    await cart.getByLabel('Category').fill('clothes')
    await cart.getByLabel('Unit price').fill('29.99')
    await cart.getByRole('button', { name: 'Compute the discount' }).click()
    await cart.getByText('do not reach its minimum amount').waitFor()
    await cart.getByLabel('Quantity').fill('3')
    await cart.getByRole('button', { name: 'Add item' }).click()
    const second = cart.getByRole('group', { name: 'Item 2' })
    await second.getByLabel('SKU').fill('mug')
    await second.getByLabel('Unit price').fill('7.99')
    await cart.getByRole('button', { name: 'Compute the discount' }).click()
    await cart.getByText('Discount: €20.00').waitFor()
    await cart.getByText('mug: €0.00').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await cart.waitFor({ state: 'hidden' })
  })

  it('creates an automatic promotion, edits it, and shows it without codes', async () => {
    await open('/coupons', 'Coupons')
    await button('Create pool').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Big carts')
    await dialog.getByLabel('Codes').selectOption('No code: it applies by itself')
    await dialog.getByLabel('Percent').fill('5')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Create pool' }).click()
    await page.getByRole('heading', { level: 1, name: 'Big carts' }).waitFor()
    await page.getByText('none: it applies by itself').waitFor()
    expect(await button('Assign').count()).toBe(0)

    await button('Edit discount and rules').click()
    const edit = page.getByRole('dialog', { name: 'Discount and rules' })
    await edit.getByLabel('Minimum of the cart').fill('50')
    await edit.getByLabel('Priority').fill('7')
    await edit.getByRole('button', { name: 'Save' }).click()
    await edit.waitFor({ state: 'hidden' })
    await page.getByRole('definition').filter({ hasText: /^7$/ }).waitFor()
    await open('/coupons', 'Coupons')
    const row = page.getByRole('table', { name: 'Pools' }).getByRole('row', { name: 'Big carts' })
    await row.getByText('automatic, without codes').waitFor()
  })

  it('creates gift cards, shows what one paid, and tops up, refunds, transfers and revokes it', async () => {
    await open('/coupons', 'Coupons')
    await button('Create pool').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Gifts')
    await dialog.getByLabel('Codes').selectOption('Gift cards: codes that hold money')
    await dialog.getByLabel('How many').fill('2')
    await dialog.getByLabel('Amount of each card').fill('0')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Create pool' }).click()
    expect(await dialog.getByLabel('Amount of each card').getAttribute('min')).toBe('0.01')
    await dialog.getByLabel('Amount of each card').fill('20')
    await dialog.getByRole('button', { name: 'Create pool' }).click()
    await page.getByRole('heading', { level: 1, name: 'Gifts' }).waitFor()
    await page.getByText('ready', { exact: true }).waitFor()
    await page.getByRole('definition').filter({ hasText: '€40.00' }).first().waitFor()

    const cards = page.getByRole('table', { name: 'Gift cards' })
    await expect.poll(() => cards.locator('tbody tr').count()).toBe(2)
    const codes = await cards.locator('tbody td:first-child').allInnerTexts()
    const [code = '', other = ''] = codes.map((text) => text.trim())
    const items = [{ sku: 'shirt', quantity: 1, unitAmount: 1_500 }]
    const redeem = await redeemsWith('Gifts')
    expect(await redeem({ code, orderId: 'gift-order', currency: 'EUR', items })).toBe(200)
    await page.reload()
    await cards.getByRole('row', { name: code }).getByText('€5.00').waitFor()
    await page.getByRole('table', { name: 'Movements' }).getByRole('row', { name: 'gift-order' }).waitFor()
    await expectAccessible(page)

    await cards.getByRole('button', { name: code }).press('Enter')
    const card = page.getByRole('dialog', { name: code, exact: true })
    const balance = card.getByRole('definition').first()
    const movements = card.getByRole('table', { name: 'Movements of the card' })
    await movements.getByRole('row', { name: 'gift-order' }).getByText('-€15.00').waitFor()
    await expectAccessible(page)
    await card.getByRole('button', { name: 'Top up' }).click()
    const topUp = page.getByRole('dialog', { name: `Top up ${code}` })
    await topUp.getByLabel('Amount').fill('1000000000')
    await topUp.getByRole('button', { name: 'Top up' }).click()
    expect(await topUp.getByLabel('Amount').getAttribute('max')).toBe('999999995.00')
    await topUp.getByLabel('Amount').fill('2.5')
    await topUp.getByLabel('Reason').fill('Sorry')
    await expectAccessible(page)
    await topUp.getByRole('button', { name: 'Top up' }).click()
    await topUp.waitFor({ state: 'detached' })
    await balance.getByText('€7.50').waitFor()
    await movements.getByText('Sorry').first().waitFor({ state: 'attached' })

    await card.getByRole('button', { name: 'Refund gift-order' }).click()
    const refund = page.getByRole('dialog', { name: 'Refund gift-order' })
    await refund.getByText('€0.00 were refunded before').waitFor()
    await refund.getByLabel('Amount in all').fill('10')
    await expectAccessible(page)
    await refund.getByRole('button', { name: 'Refund' }).click()
    await refund.waitFor({ state: 'detached' })
    await balance.getByText('€17.50').waitFor()

    await card.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await card.getByText('revoked', { exact: true }).waitFor()
    expect(await card.getByRole('button', { name: 'Top up' }).count()).toBe(0)
    await card.getByRole('button', { name: 'Transfer' }).click()
    const transfer = page.getByRole('dialog', { name: `Transfer from ${code}` })
    await transfer.getByLabel('To the card').fill(other)
    await expectAccessible(page)
    await transfer.getByRole('button', { name: 'Transfer' }).click()
    await transfer.waitFor({ state: 'detached' })
    await balance.getByText('€0.00').waitFor()
    expect(await card.getByRole('button', { name: 'Transfer' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await card.waitFor({ state: 'detached' })
    await cards.getByRole('row', { name: other }).getByText('€37.50').waitFor()
  })

  it('creates a loyalty programme, changes it, and shows and changes the points of a person', async () => {
    const id = project.split('/').at(-1)
    const ask = (path: string, body?: object) =>
      page.evaluate<{ id: string; data: { id: string }[] }>(
        `fetch('/api/projects/${id}/${path}', ${body ? `{ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(body))} }` : '{}'}).then((response) => response.json())`,
      )
    await ask('metering-selectors', { eventName: 'club_order', amountProperty: 'total' })
    await open('/coupons/loyalty', 'Coupons')
    await button('Create programme').first().click()
    await page.getByLabel('Key', { exact: true }).fill('club')
    await page.getByLabel('Name', { exact: true }).fill('Club')
    await page.getByLabel('Months until points expire').fill('12')
    await button('Add rule').click()
    await page.getByLabel('Conversion').fill('club_order')
    await page.getByRole('option', { name: 'club_order' }).click()
    await page.getByLabel('Per EUR').fill('1')
    const worth = page.getByRole('group', { name: 'What points are worth' })
    await worth.getByLabel('Points', { exact: true }).fill('100')
    await worth.getByLabel('Amount in EUR').fill('1.5')
    await button('Add tier').click()
    await page.getByLabel('Tier key').fill('basic')
    await page.getByLabel('Tier name').fill('Basic')
    await page.getByLabel('Points earned').fill('0')
    await expectAccessible(page)
    await button('Create programme').click()
    await page.getByRole('heading', { level: 1, name: 'Club' }).waitFor()
    await page.getByText('1 point per €1.00: club_order').waitFor()
    await page.getByText('100 points for €1.50').waitFor()

    await button('Edit').click()
    await page.getByLabel('Months until points expire').fill('')
    await button('Save').click()
    await page
      .getByRole('definition')
      .filter({ hasText: /^never$/ })
      .waitFor()

    const adjusted = { userId: 'points-user', points: 300, key: 'welcome' }
    await ask('loyalty-programmes/club/adjust', adjusted)
    const profiles = await ask('profiles?userId=points-user')
    await open(`/people/${profiles.data[0]?.id}`, 'points-user')
    await page.getByText('Points: Club').waitFor()
    await button('Movements of Club').click()
    const dialog = page.getByRole('dialog', { name: 'Points: Club' })
    await dialog.getByLabel('Points').fill('-100')
    await dialog.getByLabel('Reason').fill('Sorry')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Change points' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('definition').filter({ hasText: /^200$/ }).waitFor()

    await open('/coupons/loyalty/club', 'Club')
    const row = page.getByRole('table', { name: 'Movements' }).getByRole('row', { name: 'Sorry' })
    await row.getByText('-100', { exact: true }).waitFor()
    await button('Archive').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Archive programme' }).click()
    const programmes = page.getByRole('table', { name: 'Loyalty programmes' })
    await programmes.getByRole('row', { name: 'Club' }).getByText('archived').waitFor()
  })

  it('rolls back a part of a discount by returned items and by an amount', async () => {
    await open('/coupons', 'Coupons')
    await page.getByRole('link', { name: 'Autumn', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Autumn' }).waitFor()
    const codes = page.getByRole('table', { name: 'Codes' })
    const code = await codes.getByRole('row', { name: 'available' }).first().locator('code').innerText()
    const items = [{ sku: 'shirt', category: 'clothes', quantity: 2, unitAmount: 3_000 }]
    const redeem = await redeemsWith('Till')
    expect(await redeem({ code, orderId: 'order-4', currency: 'EUR', items })).toBe(200)

    await open('/coupons/redemptions', 'Coupons')
    const row = page.getByRole('table', { name: 'Redemptions' }).getByRole('row', { name: code })
    await row.getByRole('cell', { name: '€20.00', exact: true }).waitFor()
    await row.getByRole('button', { name: 'Return a part' }).click()
    const dialog = page.getByRole('dialog', { name: `Return a part of ${code}` })
    await dialog.getByText('€0.00 were rolled back before').waitFor()
    await dialog.getByLabel('Units of shirt').fill('1')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByText('1 × shirt are returned in all').waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await dialog.getByLabel('Units of shirt').inputValue()).toBe('1')
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await row.getByText('€10.00').waitFor()

    await row.getByRole('button', { name: 'Return a part' }).click()
    await dialog.getByText('€10.00 were rolled back before').waitFor()
    await dialog.getByLabel('Returned').selectOption('An amount')
    await dialog.getByLabel('Amount in all').fill('20.01')
    await dialog.getByRole('button', { name: 'Continue' }).click()
    expect(await dialog.getByRole('button', { name: 'Roll back' }).count()).toBe(0)
    await dialog.getByLabel('Amount in all').fill('15')
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByText('€15.00 are returned in all').waitFor()
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await row.getByText('€5.00').waitFor()
    await row.getByRole('button', { name: 'Roll back' }).waitFor()
  })

  it('changes a pool, assigns a code to a person, and revokes the codes that are left', async () => {
    await open('/coupons', 'Coupons')
    await page.getByRole('table', { name: 'Pools' }).getByRole('link', { name: 'Autumn' }).click()
    await page.getByRole('heading', { level: 1, name: 'Autumn' }).waitFor()
    const dialog = page.getByRole('dialog', { name: 'Edit Autumn' })
    await button('Edit').click()
    await dialog.getByLabel('Name').fill('Winter')
    await dialog.getByLabel('Starts').fill('2030-12-01T00:00')
    await dialog.getByLabel('Expires').fill('2030-11-01T00:00')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('must be after startsAt').waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('Starts').fill('')
    await dialog.getByLabel('Redemptions at most').fill('19')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Winter' }).waitFor()
    await page.getByText('50% off, at most €20.00').first().waitFor()
    forgetFailures(failures, /status of 422/)

    await button('Assign').click()
    const assigning = page.getByRole('dialog', { name: 'Assign a code' })
    const assign = async (userId: string) => {
      await assigning.getByLabel('Id').fill(userId)
      await assigning.getByRole('button', { name: 'Assign' }).click()
      return assigning.getByRole('status').locator('code').innerText()
    }
    const first = await assign('user-7')
    expect(await assign('user-7')).toBe(first)
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await assigning.waitFor({ state: 'detached' })

    const codes = page.getByRole('table', { name: 'Codes' })
    await page.getByLabel('Status of codes').selectOption('assigned')
    await codes.getByRole('row', { name: first }).waitFor()
    await expect.poll(() => codes.locator('tbody tr').count()).toBe(1)
    await page.reload()
    await codes.getByRole('row', { name: first }).waitFor()
    await expect.poll(() => codes.locator('tbody tr').count()).toBe(1)
    await button('Revoke all of these').click()
    const confirm = page.getByRole('alertdialog')
    await confirm.getByText('Every code that is assigned of this pool is refused').waitFor()
    await confirm.getByRole('button', { name: 'Cancel' }).click()
    await confirm.waitFor({ state: 'detached' })
    await codes.getByRole('row', { name: first }).waitFor()
    await page.getByLabel('Status of codes').selectOption('')
    await button('Revoke all').click()
    await confirm.getByRole('button', { name: 'Revoke all' }).click()
    // Two of the 20 are redeemed.
    await page.getByText('Codes revoked: 18').waitFor()
    await page.getByLabel('Status of codes').selectOption('redeemed')
    await expect.poll(() => codes.locator('tbody tr').count()).toBe(2)
    await button('Revoke all').waitFor({ state: 'detached' })
  })

  it('changes a key, which works with its new scope only', async () => {
    await open('/settings/keys', 'Settings')
    const row = page.getByRole('table', { name: 'API keys' }).getByRole('row', { name: 'Shop' })
    await row.getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog', { name: 'Edit Shop' })
    await dialog.waitFor()
    await page.reload()
    await dialog.getByRole('checkbox', { name: 'Redeem coupons' }).click()
    await dialog.getByRole('checkbox', { name: 'Read links' }).click()
    await dialog.getByLabel('Name').fill('Links only')
    await dialog.getByLabel('Requests a minute at most').fill('600')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { data } = await page.evaluate<{ data: { name: string }[] }>(
      `fetch('/api/projects/${project.split('/').at(-1)}/api-keys').then((response) => response.json())`,
    )
    expect(data.find(({ name }) => name === 'Links only')).toMatchObject({
      scopes: ['links:read'],
      requestsPerMinute: 600,
      validationMode: null,
      expiresAt: null,
    })
    // A new key of a server does not share the limit of one visitor.
    await button('Create key').click()
    const created = page.getByRole('dialog', { name: 'Create key' })
    expect(await created.getByLabel('Requests a minute at most').inputValue()).toBe('6000')
    await created.getByRole('button', { name: 'Cancel' }).click()
    await created.waitFor({ state: 'detached' })
  })

  it('replays all dead letters, request by request', async () => {
    const letter = {
      id: 'letter-1',
      group: 'persistence',
      topic: 'events',
      partition: 0,
      offset: '7',
      key: 'k',
      value: '{}',
      headers: {},
      reason: 'the store refused it',
      failedAt: '2026-11-21T04:00:00.000Z',
      replayedAt: null as string | null,
    }
    const bodies: unknown[] = []
    await page.route('**/api/projects/*/dead-letters**', (route) => {
      if (route.request().method() === 'GET')
        return route.fulfill({ json: { data: [letter], nextCursor: null } })
      bodies.push(route.request().postDataJSON())
      const isLast = bodies.length === 2
      if (isLast) letter.replayedAt = '2026-11-21T05:00:00.000Z'
      const nextCursor = isLast ? null : 'place-1000'
      return route.fulfill({
        json: { replayed: 1_000, stillInvalid: 1, remaining: isLast ? 0 : 1_001, nextCursor },
      })
    })
    await open('/catalog/dead-letters', 'Catalog')
    await button('Replay all').click()
    await page.getByText('2,000 sent again, 2 still do not fit').waitFor()
    expect(bodies).toEqual([{}, { cursor: 'place-1000' }])
    await button('Replay all').waitFor({ state: 'detached' })
    await button('persistence').click()
    const drawer = page.getByRole('dialog', { name: 'persistence' })
    await drawer.getByText('the store refused it').waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await page.unroute('**/api/projects/*/dead-letters**')
  })

  it('creates a decision and shows its results', async () => {
    await open('/decisions/_new', 'New decision')
    await page.getByLabel('Key').fill('free-shipping')
    await button('Save decision').click()
    await page.getByRole('heading', { level: 1, name: 'free-shipping' }).waitFor()
    await button('Activate').click()
    await button('Turn off').waitFor()
    await button('Preview').click()
    await button('Show what they get').click()
    await page.getByText('SPLIT', { exact: true }).waitFor()
    const replayed = page.getByRole('table', { name: 'What people would have got' })
    await button('Replay').click()
    await replayed.getByText('SPLIT').first().waitFor()
    await page.getByText('Requests for decisions are not stored').waitFor()
    await button('Rules and variants').click()
    // What is typed is replayed before it is saved.
    await page.getByLabel('Rule 1', { exact: true }).fill('For everyone')
    await page.getByLabel('Holdout, percent').fill('100')
    await button('Replay').click()
    await replayed.getByText('HOLDOUT').first().waitFor()
    await page.getByLabel('Holdout, percent').fill('0')
    await replayed.waitFor({ state: 'detached' })
    await button('Add metric').click()
    await page.getByLabel('Event', { exact: true }).fill('order_placed')
    await button('Save decision').click()
    await page.getByText('version 3').waitFor()
    await button('Results').click()
    await page.getByRole('heading', { name: 'order_placed.count' }).waitFor()
    await page.getByText('Fewer than 100 people had').waitFor()
    await page.getByRole('table', { name: 'Results of order_placed.count' }).getByText('control').waitFor()
    await button('Over time').click()
    await page.reload()
    await page
      .getByRole('table', { name: 'Lift of order_placed.count over time' })
      .waitFor({ state: 'attached' })
  })

  it('keeps the unsaved rules of a decision while its status changes', async () => {
    await button('Rules and variants').click()
    const field = page.getByLabel('Rule 1', { exact: true })
    const shown = await page.getByText(/^version \d+$/).innerText()
    const version = Number(shown.replace('version ', ''))
    const showsVersion = (number: number) => page.getByText(`version ${number}`, { exact: true }).waitFor()
    await field.fill('For everyone in Spain')
    await button('Preview').click()
    await button('Show what they get').waitFor()
    await button('Rules and variants').click()
    expect(await field.inputValue()).toBe('For everyone in Spain')
    await button('Turn off').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Turn off' }).click()
    await button('Activate').waitFor()
    await showsVersion(version + 1)
    expect(await field.inputValue()).toBe('For everyone in Spain')
    await button('Save decision').click()
    await showsVersion(version + 2)
    await page.reload()
    await expect.poll(() => field.inputValue()).toBe('For everyone in Spain')

    // Another browser changes the rules meanwhile.
    const url = `/api/projects/${project.split('/').at(-1)}/decisions/free-shipping`
    const changed = await page.evaluate<number>(
      `fetch('${url}', {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ version: ${version + 2}, name: 'Free shipping' }),
      }).then((response) => response.status)`,
    )
    expect(changed).toBe(200)
    await field.fill('For everyone in Portugal')
    await button('Activate').click()
    await page.getByRole('heading', { level: 1, name: 'Free shipping' }).waitFor()
    expect(await field.inputValue()).toBe('For everyone in Portugal')
    await button('Save decision').click()
    await page.getByRole('main').getByRole('alert').waitFor()
    forgetFailures(failures, /status of 4(09|12)/)

    const leave = page.getByRole('alertdialog', { name: 'Leave without saving?' })
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    await leave.getByRole('button', { name: 'Cancel' }).click()
    await leave.waitFor({ state: 'detached' })
    expect(await field.inputValue()).toBe('For everyone in Portugal')
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    await leave.getByRole('button', { name: 'Leave' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    // Nothing is asked where nothing was changed.
    await page.goBack()
    await field.waitFor()
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  })

  it('edits the weights and the ramp of a rule', async () => {
    // Loads the page anew, without what the test before has typed.
    await page.goto(`${project}/decisions/free-shipping?view=rules`)
    await button('Ramp rule 1 up over time').click()
    const ramp = page.getByRole('group', { name: 'Ramp of rule 1' })
    await ramp.getByLabel('From, step 1').fill('2026-01-05T09:00')
    await ramp.getByLabel('Percent, step 1').fill('5')
    await ramp.getByRole('button', { name: 'Add step' }).click()
    expect(await ramp.getByLabel('From, step 2').inputValue()).toBe('2026-01-06T09:00')
    await ramp.getByLabel('Percent, step 2').fill('4')
    await page.getByLabel('Weight of on').fill('1.5')
    await page.getByLabel('Holdout, percent').fill('0.01')
    await expectAccessible(page)
    await button('Save decision').click()
    await page.getByText('is below the percentage of the step before').waitFor()
    await ramp.getByLabel('Percent, step 2').fill('100')
    await button('Save decision').click()
    await page.getByText('Decision saved').first().waitFor()
    await page.reload()
    await expect.poll(() => ramp.getByLabel('Percent, step 2').inputValue()).toBe('100')
    expect(await ramp.getByLabel('From, step 1').inputValue()).toBe('2026-01-05T09:00')
    expect(await page.getByLabel('Weight of on').inputValue()).toBe('1.5')
    expect(await page.getByLabel('Holdout, percent').inputValue()).toBe('0.01')
    forgetFailures(failures, /status of 422/)
  })

  it('gives a decision rules in another environment, and turns it on there only', async () => {
    await open('/settings', 'Settings')
    await page.getByLabel('Key of the environment').fill('preview')
    await button('Add environment').click()
    await page.getByText('Environment created').first().waitFor()
    await expectAccessible(page)

    await open('/decisions/free-shipping?view=rules', 'Free shipping')
    await page.getByLabel('Environment', { exact: true }).selectOption('preview')
    await page.getByRole('heading', { name: 'Rules in preview' }).waitFor()
    await button('Add rule').click()
    await page.getByRole('combobox', { name: 'They get' }).selectOption('on')
    await button('Save decision').click()
    await page.getByText('Decision saved').first().waitFor()
    await button('Activate').click()
    await button('Turn off').waitFor()
    await page.getByText('in preview', { exact: true }).waitFor()
    await expectAccessible(page)
    await button('Preview').click()
    await button('Show what they get').click()
    await page.getByText('TARGETING_MATCH', { exact: true }).first().waitFor()

    await open('/settings', 'Settings')
    await button('Delete').click()
    const confirmation = page.getByRole('alertdialog')
    await confirmation.getByRole('button', { name: 'Delete' }).click()
    await confirmation.getByText('free-shipping has rules for it').waitFor()
    await confirmation.getByRole('button', { name: 'Cancel' }).click()
    forgetFailures(failures, /status of 409/)
  })

  it('schedules a change of a decision, and cancels it', async () => {
    await open('/decisions/free-shipping', 'Free shipping')
    await button('Schedule').click()
    await page.getByRole('heading', { name: 'No scheduled changes' }).waitFor()
    await button('Schedule a change').click()
    const form = page.getByRole('dialog', { name: 'Schedule a change' })
    await form.getByLabel('At').fill('2020-01-01T09:00')
    await form.getByRole('button', { name: 'Schedule' }).click()
    await form.getByText('Nothing is changed yet').waitFor()
    await form.getByLabel('The decision').selectOption({ label: 'is turned on' })
    await form.getByRole('button', { name: 'Schedule' }).click()
    await form.getByText('must be an RFC 3339 time in the future').waitFor()
    await expectAccessible(page)
    await form.getByLabel('At').fill('2090-01-01T09:00')
    await form.getByLabel('Percent, step 1').fill('50')
    await form.getByLabel('Weight of on').fill('3')
    await form.getByText('All rules become those above').waitFor()
    await form.getByLabel('Edit as').selectOption({ label: 'JSON, with any field' })
    expect(JSON.parse(await form.getByLabel('Change').inputValue())).toMatchObject({
      status: 'active',
      rules: [{ ramp: [{ percentage: 50 }, { percentage: 100 }] }],
    })
    await form.getByLabel('Edit as').selectOption({ label: 'a form' })
    await form.getByRole('button', { name: 'Schedule' }).click()
    const rows = page.getByRole('table', { name: 'Scheduled changes' }).getByRole('row', { name: /pending/ })
    const planned = rows.filter({ hasText: 'turned on' })
    await planned.getByText('rule 1: up to 100% of people get off 1, on 3').waitFor()
    await planned.getByText('ada@example.com').waitFor()

    await button('Schedule a change').click()
    await form.getByLabel('At').fill('2090-01-02T09:00')
    await form.getByLabel('Edit as').selectOption({ label: 'JSON, with any field' })
    await form.getByLabel('Change').fill('{"holdout": 5}')
    await form.getByRole('button', { name: 'Schedule' }).click()
    await rows.getByText('holdout: 5').waitFor()
    await expectAccessible(page)
    for (const status of [1, 2]) {
      await rows.first().getByRole('button', { name: 'Cancel change' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel change' }).click()
      await expect.poll(() => page.getByRole('cell', { name: 'cancelled', exact: true }).count()).toBe(status)
    }
    forgetFailures(failures, /status of 422/)
  })

  it('shows what each version of a decision changed, and restores one', async () => {
    await page.goto(`${project}/decisions/free-shipping?view=history`)
    await button('2').click()
    const changes = page.getByRole('region', { name: 'Changes since version 1' })
    await changes.getByText('status', { exact: true }).waitFor()
    expect(await changes.getByRole('deletion').innerText()).toBe('"draft"')
    expect(await changes.getByRole('insertion').innerText()).toBe('"active"')
    await expectAccessible(page)
    await button('Close').click()
    const shown = await page.getByText(/^version \d+$/).innerText()
    const restored = Number(shown.replace('version ', '')) + 1
    await page.getByRole('row', { name: /^1 / }).getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
    await page.getByText(`version ${restored}`, { exact: true }).waitFor()
    await page.getByRole('row', { name: new RegExp(`^${restored} rolled back .*ada@example.com`) }).waitFor()
    await page.getByRole('heading', { level: 1, name: 'free-shipping' }).waitFor()
  })

  it('keeps the results of an experiment after its winner is given to everyone', async () => {
    const api = (resource: string, method: string, body?: object) =>
      page.evaluate<{ key: string; sampleRatio: { seen: object } }>(
        `fetch('/api/projects/${project.split('/').at(-1)}/${resource}', {
          method: '${method}',
          headers: { 'Content-Type': 'application/json' },
          body: ${body ? JSON.stringify(JSON.stringify(body)) : 'undefined'},
        }).then((response) => response.json())`,
      )
    const shares = ['off', 'on'].map((variant) => ({ variant, weight: 1 }))
    await api('decisions', 'POST', {
      key: 'ended',
      status: 'active',
      fallbackVariant: 'off',
      variants: shares.map(({ variant }) => ({ key: variant, value: variant })),
      rules: [{ id: 'everyone', split: shares }],
    })
    const { key } = await api('api-keys', 'POST', {
      name: 'Shop',
      kind: 'sec',
      scopes: ['decide'],
      requestsPerMinute: 1_000,
    })
    await eventually('someone is split', async () => {
      const answer = await fetch(`${baseUrl}/api/v1/decide`, {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ visitorId: 'visitor-1', keys: ['ended'] }),
      })
      return (await answer.text()).includes('"SPLIT"')
    })
    await eventually('they are counted', async () => {
      const { sampleRatio } = await api('decisions/ended/results', 'GET')
      return Object.keys(sampleRatio.seen).length === 2
    })
    await api('decisions/ended', 'PATCH', { rules: [{ id: 'everyone', variant: 'on' }] })
    await open('/decisions/ended', 'ended')
    await page.getByRole('heading', { name: 'Experiment' }).waitFor()
    await page.getByText('People: off').waitFor()
  })

  it('finds a person by id, email address and trait', async () => {
    const key = /wm_pub_\w+/.exec(await page.evaluate<string>('JSON.stringify(sessionStorage)'))?.[0] ?? ''
    const identified = await fetch(`${baseUrl}/api/v1/identify?sync=1`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        visitorId: 'visitor-1',
        userId: 'user-1',
        traits: { name: 'Ann Lee', email: 'ann@shop.example', seats: 4 },
      }),
    })
    expect([identified.status, await identified.text()]).toEqual([200, expect.anything()])
    // Traits reach the event store a moment later.
    const profiles = `/api/projects/${project.split('/').at(-1)}/profiles?search=ann@`
    const found = () => page.evaluate<string>(`fetch('${profiles}').then((response) => response.text())`)
    await expect.poll(found).toContain('Ann Lee')
    await open('/people', 'People')
    for (const text of ['visitor-1', 'Ann@shop', 'seats=4', 'name=Ann Lee']) {
      await page.getByLabel('Id, email or trait').fill(text)
      await button('Find').click()
      await page.getByRole('table', { name: 'Found people' }).getByText('Ann Lee').waitFor()
      expect(new URL(page.url()).searchParams.get('search')).toBe(text)
    }
    await page.getByLabel('Id, email or trait').fill('seats=5')
    await button('Find').click()
    await page.getByText('No one found for seats=5').waitFor()
    await page.getByLabel('Id, email or trait').fill('user-1')
    await button('Find').click()
    await page.getByRole('table', { name: 'Found people' }).getByText('Ann Lee').click()
    await page.getByRole('heading', { level: 1, name: 'Ann Lee' }).waitFor()
  })

  it('creates an access token that works until it is revoked', async () => {
    // This and the next tests need a sign-in within 10 minutes. On a slow machine, the first one is older.
    const proved = await page.evaluate<number>(
      `fetch('/api/auth/reauthenticate', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ password: 'a long way to the shop' }),
      }).then((response) => response.status)`,
    )
    expect(proved).toBe(204)
    await open('/settings/account', 'Settings')
    await button('Create token').click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill('Nightly report')
    await form.getByRole('button', { name: 'Create token' }).click()
    const shown = page.getByRole('region', { name: 'New token' })
    await shown.getByText('wm_pat_').waitFor()
    await expectAccessible(page)
    const token = /wm_pat_[\w-]{43}/.exec(await shown.innerText())?.[0]
    const statusOf = async () => {
      const headers = { Authorization: `Bearer ${token}` }
      return (await fetch(`${baseUrl}/api/projects/${project.split('/').at(-1)}`, { headers })).status
    }
    expect(await statusOf()).toBe(200)
    await page.keyboard.press('Escape')
    await shown.waitFor({ state: 'detached' })
    const table = page.getByRole('table', { name: 'Access tokens' })
    await table.getByText('Nightly report').waitFor()
    await table.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No access tokens').waitFor()
    expect(await statusOf()).toBe(401)
  })

  it('sets up a second factor, asks for it at a sign-in and again before what destroys', async () => {
    await open('/live', 'Live')
    await open('/settings/account', 'Settings')
    await button('Set up a second factor').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Show the QR code' }).click()
    await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    await expectAccessible(page)
    const secret = await dialog.getByRole('region', { name: 'Key' }).innerText()
    await dialog.getByLabel('Code').fill(await generate({ secret }))
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    const codes = (await dialog.getByRole('region', { name: 'Recovery codes' }).innerText()).split('\n')
    expect(codes).toHaveLength(10)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByText('Recovery codes left').waitFor()

    const context = await browser.newContext({ reducedMotion: 'reduce' })
    const other = await context.newPage()
    const problems = collectFailures(other)
    await other.goto(`${baseUrl}/console/sign-in`)
    await other.getByLabel('Email').fill('ada@example.com')
    await other.getByRole('textbox', { name: 'Password' }).fill('a long way to the shop')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('heading', { level: 1, name: 'Enter your code' }).waitFor()
    await expectAccessible(other)
    await other.getByLabel('Code').fill(codes[0] ?? '')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('heading', { level: 1, name: 'Home' }).waitFor()

    // The answer of the API when the sign-in is 10 minutes ago.
    const stale = { error: 'Confirm that it is you', code: 'reauthentication_required', method: 'code' }
    await other.route(
      '**/api/auth/second-factor/recovery-codes',
      (route) => route.fulfill({ status: 403, contentType: 'application/json', body: JSON.stringify(stale) }),
      { times: 1 },
    )
    await navigate(other, `${project}/settings/account`)
    await other.getByRole('button', { name: 'New recovery codes' }).click()
    await other.getByRole('alertdialog').getByRole('button', { name: 'Replace' }).click()
    const proof = other.getByRole('dialog', { name: 'Confirm that it is you' })
    await proof.getByLabel('Code').fill(codes[1] ?? '')
    await expectAccessible(other)
    await proof.getByRole('button', { name: 'Confirm' }).click()
    const renewed = await other.getByRole('region', { name: 'Recovery codes' }).innerText()
    expect(renewed.split('\n')).toHaveLength(10)
    expect(renewed).not.toContain(codes[2])
    await other.getByRole('button', { name: 'I have kept them' }).click()

    await other.getByRole('switch', { name: 'Require a second factor' }).click()
    await other.getByText('Members need a second factor').waitFor()
    await other.getByText('requires it').waitFor()
    await other.getByRole('switch', { name: 'Require a second factor' }).click()
    await other.getByText('Members need no second factor').waitFor()

    expect(problems.filter((problem) => !problem.includes('recovery-codes'))).toEqual([])
    await context.close()

    // What a member without a second factor sees when the company requires one.
    const closed = { closedProjectIds: [project.split('/').at(-1)] }
    await page.route('**/api/auth/me', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...((await response.json()) as object), ...closed } })
    })
    await page.goto(`${project}/live`)
    await page.getByRole('heading', { level: 1, name: 'Set up a second factor' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Show the QR code' }).click()
    const another = await page.getByRole('region', { name: 'Key' }).innerText()
    await page.getByLabel('Code').fill(await generate({ secret: another }))
    await page.unroute('**/api/auth/me')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('region', { name: 'Recovery codes' }).waitFor()
    await page.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await open('/settings/account', 'Settings')
    await button('Remove').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await button('Set up a second factor').waitFor()
  })

  it('creates a webhook, tests it and sends deliveries again', async () => {
    const received: { headers: IncomingHttpHeaders; text: string }[] = []
    const server = createServer(async (request, response) => {
      received.push({ headers: request.headers, text: (await request.toArray()).join('') })
      response.end('thanks from the shop')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const secret = page.getByRole('region', { name: 'New secret' })
    const readSecret = async () => {
      await secret.getByText('whsec_').waitFor()
      const text = /whsec_[\w+/]{43}=/.exec(await secret.innerText())?.[0] ?? ''
      await page.keyboard.press('Escape')
      await secret.waitFor({ state: 'detached' })
      return text
    }
    const verify = (key: string, { headers, text }: (typeof received)[number]) =>
      new Webhook(key).verify(text, headers as Record<string, string>)

    await open('/settings', 'Settings')
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
    await button('Create webhook').first().click()
    const form = page.getByRole('dialog')
    await form.getByLabel('URL').fill(`http://${host}/hook`)
    await form.getByLabel('Event names').fill('hook_called\n\nhook_called')
    await form.getByLabel('Filter').fill('{"==": [')
    await form.getByRole('button', { name: 'Create webhook' }).click()
    await form.getByText('The filter is not valid JSON').waitFor()
    await expectAccessible(page)
    await form.getByLabel('Filter').fill('{"==": [{"var": "properties.n"}, 1]}')
    await form.getByRole('button', { name: 'Create webhook' }).click()
    await secret.waitFor()
    await expectAccessible(page)
    const first = await readSecret()

    await page.getByRole('heading', { level: 1, name: host }).waitFor()
    await button('Send test').first().click()
    const table = page.getByRole('table', { name: 'Deliveries' })
    await table.getByRole('row', { name: /^test delivered 200 1/ }).waitFor()
    expect(received.map((one) => verify(first, one))).toMatchObject([{ type: 'test' }])
    await button('test').click()
    const drawer = page.getByRole('dialog', { name: 'test' })
    await drawer.getByRole('region', { name: 'Response' }).getByText('thanks from the shop').waitFor()
    await drawer.getByRole('region', { name: 'Request' }).getByText('"type": "test"').waitFor()
    await expectAccessible(page)
    await drawer.getByRole('button', { name: 'Redeliver' }).click()
    await expect.poll(() => received.length).toBe(2)
    expect(received[1]?.headers['webhook-id']).toBe(received[0]?.headers['webhook-id'])

    await button('Pause').click()
    await page.getByText('what happens until then is not delivered').waitFor()
    expect(await button('Replay a time range').isDisabled()).toBe(true)
    await button('Activate').click()
    await button('Pause').waitFor()
    await button('Rotate secret').click()
    await button('Create a new secret').click()
    const second = await readSecret()
    expect(second).not.toBe(first)

    const key = /wm_pub_\w+/.exec(await page.evaluate<string>('JSON.stringify(sessionStorage)'))?.[0] ?? ''
    for (const n of [2, 1]) {
      const sent = await fetch(`${baseUrl}/api/v1/t`, {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ eventName: 'hook_called', visitorId: 'visitor-1', properties: { n } }),
      })
      expect(sent.status).toBe(202)
    }
    await table.getByRole('row', { name: /^event delivered 200 1/ }).waitFor()
    await button('Replay a time range').click()
    await form.getByLabel('Deliveries').selectOption('Delivered ones')
    await expectAccessible(page)
    await form.getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByText('Deliveries sent again: 1').waitFor({ timeout: 30_000 })
    await expectAccessible(page)
    await expect.poll(() => received.length).toBe(4)
    for (const one of received.slice(2))
      for (const each of [first, second])
        expect(verify(each, one)).toMatchObject({ type: 'event', data: { properties: { n: 1 } } })

    await button('Delete').click()
    await button('Delete webhook').click()
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
  })

  it('shows the secret of user hashes and replaces it', async () => {
    await open('/settings', 'Settings')
    await button('Show the secret').click()
    const secret = page.getByRole('region', { name: 'Secret of user hashes' }).locator('pre')
    const first = await secret.innerText()
    expect(first.length).toBeGreaterThan(20)
    await expectAccessible(page)
    await button('Rotate').click()
    await button('Replace the secret').click()
    await page.getByText('The secret was replaced').waitFor()
    await expect.poll(() => secret.innerText()).not.toBe(first)
    await button('Hide the secret').click()
    await secret.waitFor({ state: 'detached' })
  })

  it('keeps the last owner in a project', async () => {
    await button('Leave project').first().click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByRole('button', { name: 'Leave project' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    forgetFailures(failures, /status of 4\d\d .*members\/me/)
  })

  it('says that it loads until its scripts are there', async () => {
    const other = await (await browser.newContext()).newPage()
    onTestFinished(() => other.context().close())
    await other.route('**/assets/*.js', (route) => route.abort())
    await other.goto(`${baseUrl}/console/`)
    await other.getByRole('status').getByText('Loading').waitFor()
  })

  it('opens a page by keyboard', async () => {
    await open('', 'Home')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill('Coup')
    await page.locator('[role=option][data-highlighted]', { hasText: 'Coupons' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Coupons' }).waitFor()
  })

  it('shows the theme of the system until another is chosen', async () => {
    const theme = () => page.evaluate<string>('document.documentElement.dataset.theme')
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect.poll(theme).toBe('dark')
    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(theme).toBe('light')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill('Switch')
    await page.locator('[role=option][data-highlighted]', { hasText: 'Switch between' }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(theme).toBe('dark')
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitem', { name: 'Light mode' }).click()
    await expect.poll(theme).toBe('light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.reload()
    await loaded(page)
    expect(await theme()).toBe('light')
    await page.evaluate("localStorage.removeItem('theme')")
    await page.emulateMedia({ colorScheme: null })
  })

  it('sorts up to 500 rows of a list, and says when more follow', async () => {
    const createLinks = async (count: number) => {
      const status = await page.evaluate<number>(
        `fetch('/api/projects/${project.split('/').at(-1)}/links/bulk', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({
            links: Array.from({ length: ${count} }, () => ({ campaign: 'bulk', destination: 'https://shop.example/' })),
          }),
        }).then((response) => response.status)`,
      )
      expect(status).toBeLessThan(300)
    }
    // Roles of hundreds of rows take a second to compute.
    const rows = page.getByRole('table', { name: 'Links' }).locator('tr')
    const sort = async () => {
      await button('Campaign').click()
      await expect.poll(() => rows.count()).toBe(501)
    }
    await createLinks(499)
    await open('/links', 'Links')
    await expect.poll(() => rows.count()).toBe(51)
    await sort()
    // The oldest link is the only one without a campaign.
    expect(await rows.nth(1).innerText()).toContain('autumn-sale')
    expect(await button('Load more').count()).toBe(0)

    await createLinks(1)
    // The order is part of the URL.
    await page.reload()
    await page.getByText('Only the first 500 rows are sorted').waitFor()
    expect(await rows.count()).toBe(501)
    expect(await rows.nth(1).innerText()).not.toContain('autumn-sale')
    await button('Load more').click()
    await expect.poll(() => rows.count()).toBe(502)
    expect(await rows.nth(1).innerText()).toContain('autumn-sale')
    expect(await page.getByText('rows are sorted').count()).toBe(0)
  })

  it('shows the open tab on a phone', async () => {
    await page.setViewportSize({ width: 320, height: 640 })
    await open('/settings/account', 'Settings')
    const tabs = page.getByRole('navigation', { name: 'Settings' })
    const right = async () => {
      const box = await tabs.getByRole('link', { name: 'Account' }).boundingBox()
      return (box?.x ?? 0) + (box?.width ?? 0)
    }
    await expect.poll(right).toBeGreaterThan(0)
    await expect.poll(right).toBeLessThanOrEqual(320)
  })

  /** Ends the session of the browser, as the sign-out in another browser does. */
  const endSession = async () => {
    const status = await page.evaluate<number>(
      `fetch('/api/auth/logout', { method: 'POST' }).then((response) => response.status)`,
    )
    expect(status).toBeLessThan(300)
  }
  const signInAgain = async () => {
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.waitFor()
    expect(await dialog.getByLabel('Email').inputValue()).toBe('ada@example.com')
    await dialog.getByLabel('Password').fill('not the password')
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('Password').fill('a long way to the shop')
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    forgetFailures(failures, /status of 401/)
  }

  it('keeps what was typed into a dialog when the session ends before it is saved', async () => {
    await page.setViewportSize({ width: 1280, height: 800 })
    await open('/dashboards', 'Dashboards')
    await button('Create dashboard').first().click()
    const form = page.getByRole('dialog', { name: 'Create dashboard' })
    await form.getByLabel('Name').fill('Every morning')
    const save = form.getByRole('button', { name: 'Create' })
    await page.route('**/dashboards', async (route) => {
      if (route.request().method() === 'POST') await endSession()
      await route.fallback()
    })
    await save.click()
    await signInAgain()
    await page.unroute('**/dashboards')
    expect(await form.getByLabel('Name').inputValue()).toBe('Every morning')
    await save.click()
    await page.getByRole('heading', { level: 1, name: 'Every morning' }).waitFor()
  })

  it('keeps what was typed into a page when its data can no longer be read', async () => {
    await open('/email/new', 'New trigger')
    await page.getByLabel('Name', { exact: true }).fill('Welcome')
    await page.getByLabel('Event', { exact: true }).fill('signed_up')
    await button('Save').click()
    await page.getByRole('heading', { level: 1, name: 'Welcome' }).waitFor()

    const subject = page.getByLabel('Subject')
    await subject.fill('Good to see you')
    const trigger = /\/email-triggers\/[\w-]{36}$/
    await page.route(trigger, (route) =>
      route.request().method() === 'GET' ? route.fulfill({ status: 500, json: {} }) : route.fallback(),
    )
    const failed = page.waitForResponse((response) => response.status() === 500)
    await Promise.all([failed, page.getByRole('button', { name: /^(Activate|Pause)$/ }).click()])
    await page.unroute(trigger)
    expect(await subject.inputValue()).toBe('Good to see you')
    forgetFailures(failures, /status of 500/)

    await endSession()
    // The preview is read again for what is typed: not by keys, which go to the dialog when another request opened it.
    await subject.evaluate((input, text) => {
      Object.getOwnPropertyDescriptor(Object.getPrototypeOf(input), 'value')?.set?.call(input, text)
      input.dispatchEvent(new Event('input', { bubbles: true }))
    }, 'Good to see you again')
    await signInAgain()
    expect(await subject.inputValue()).toBe('Good to see you again')
    // The message of the first time may still be shown.
    await page.getByText('Trigger saved').waitFor({ state: 'hidden' })
    await button('Save').click()
    await page.getByText('Trigger saved').waitFor()
  })

  it('returns to its page in every tab after a new sign-in', async () => {
    const search = (tab: Page) => tab.getByRole('searchbox', { name: 'Search' })
    const newTab = async () => {
      const tab = await page.context().newPage()
      await tab.goto(`${project}/links`)
      await search(tab).waitFor()
      return tab
    }
    await open('/links?q=autumn', 'Links')
    const reloaded = await newTab()
    const waiting = await newTab()
    await endSession()
    await reloaded.reload()
    await reloaded.getByRole('heading', { name: 'Sign in to Waymark' }).waitFor()
    for (const tab of [waiting, page]) {
      await search(tab).fill('autumn-sale')
      await tab.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    }
    await signInAgain()
    for (const tab of [waiting, page]) {
      await tab.getByRole('link', { name: 'autumn-sale' }).waitFor()
      expect(await search(tab).inputValue()).toBe('autumn-sale')
    }
    expect(new URL(page.url()).searchParams.get('q')).toBe('autumn-sale')
    await reloaded.getByRole('heading', { level: 1, name: 'Links' }).waitFor()
    await reloaded.close()
    await waiting.close()
  })

  it('has had no error, refused request or violation of its policy', () => {
    expect(failures).toEqual([])
  })

  it('resets a forgotten password and confirms an address by emailed links', async () => {
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    const other = await context.newPage()
    const problems = collectFailures(other)
    const shown = async (title: string) => {
      await other.getByRole('heading', { level: 1, name: title }).waitFor()
      await loaded(other)
      await expectAccessible(other)
    }
    const followLink = async (to: string) => {
      const link = await eventually(`the link to ${to} was sent`, () => {
        const texts = readdirSync(waymark.mailDir).map((file) =>
          readFileSync(path.join(waymark.mailDir, file), 'utf8')
            .replaceAll('=\r\n', '')
            .replaceAll('=3D', '='),
        )
        const links = texts.map((text) => new RegExp(`/console/${to}\\?token=[\\w-]{43}`).exec(text)?.[0])
        return links.find((found) => found !== undefined)
      })
      await other.goto(`${baseUrl}${link}`)
    }

    await other.goto(`${baseUrl}/console/verify-email?token=${'a'.repeat(43)}`)
    await other.getByRole('button', { name: 'Confirm the address' }).click()
    await other.getByText('This link was used, has expired or is not complete.').waitFor()
    // The browser reports the refused request.
    problems.length = 0
    await followLink('verify-email')
    await shown('Confirm your email address')
    await other.getByRole('button', { name: 'Confirm the address' }).click()
    // This browser is not signed in.
    await other.getByLabel('Password').fill('a long way to the shop')
    await shown('Confirm your email address')
    // The browser reports the first, refused request.
    problems.length = 0
    await other.getByRole('button', { name: 'Confirm the address' }).click()
    await other.getByText('Your address is confirmed').waitFor()

    await other.goto(`${baseUrl}/console/sign-in`)
    await other.getByRole('link', { name: 'Forgot your password?' }).click()
    await shown('Reset your password')
    await other.getByLabel('Email').fill('ada@example.com')
    await other.getByRole('button', { name: 'Send the email' }).click()
    await other.getByText('an email with a link is on its way').waitFor()
    await followLink('reset-password')
    await shown('Set a new password')
    await other.getByLabel('New password').fill('another long way to the shop')
    await other.getByRole('button', { name: 'Set the password' }).click()
    await shown('Sign in to Waymark')
    await other.getByLabel('Email').fill('ada@example.com')
    await other.getByRole('textbox', { name: 'Password' }).fill('another long way to the shop')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    expect(problems).toEqual([])

    // The session of the browser that had signed in before has ended.
    await page.goto(`${project}/settings`)
    await page.getByRole('heading', { level: 1, name: 'Sign in to Waymark' }).waitFor()
    await context.close()
  })
})

describe('the files of the console', () => {
  it('load little before the first page', () => {
    const html = readFileSync(path.join(DIST, 'index.html'), 'utf8')
    const scripts = [...html.matchAll(/(?:src|href)="\/console\/([^"]+\.js)"/g)].map(([, file]) => file ?? '')
    expect(scripts.length).toBeGreaterThan(0)
    const bytes = scripts.reduce((sum, file) => sum + statSync(path.join(DIST, `${file}.br`)).size, 0)
    expect(bytes).toBeLessThan(MAX_FIRST_LOAD_BYTES)
    expect(readdirSync(path.join(DIST, 'assets')).every((file) => /-[\w-]{8}\./.test(file))).toBe(true)
  })
})
