import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startStandalone } from '@waymark/testing'
import type { Browser, Locator, Page, Response } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { CHROMIUM, collectFailures, forgetFailures, launchChromium, loaded } from './console-browser.ts'

const MAX_TABS = 120

/** The focused element: what it is called, and whether its focus is visible. Undefined without one. */
type Focused = { name: string; visible: boolean; id: number } | undefined

const FOCUSED = `(() => {
  const element = document.activeElement
  if (!element || element === document.body) return undefined
  window.focusIds ??= new WeakMap()
  window.focusCount ??= 0
  if (!window.focusIds.has(element)) window.focusIds.set(element, window.focusCount++)
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const { width, height } = element.getBoundingClientRect()
  return {
    name: element.tagName + ' ' + (element.getAttribute('aria-label') ?? element.textContent).slice(0, 60),
    visible: width > 1 && height > 1 && outlineStyle !== 'none' && parseFloat(outlineWidth) > 0,
    id: window.focusIds.get(element),
  }
})()`

describe.skipIf(CHROMIUM === undefined)('the console by keyboard alone', () => {
  let waymark: Awaited<ReturnType<typeof startStandalone>>
  let browser: Browser
  let page: Page
  let baseUrl = ''
  let failures: string[] = []

  beforeAll(async () => {
    waymark = await startStandalone()
    baseUrl = new URL((await waymark.request('/healthz')).url).origin
    for (const eventName of ['product_viewed', 'order_placed'])
      await post('/api/v1/t?sync=1', { eventName, visitorId: 'visitor-1' })
    browser = await launchChromium()
    page = await browser.newPage()
    failures = collectFailures(page)
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const post = async (path: string, body: object) => {
    const sent = await waymark.request(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': '' },
      body: JSON.stringify(body),
    })
    expect(sent.ok, await sent.text()).toBe(true)
  }
  const focused = () => page.evaluate<Focused>(FOCUSED)
  const press = (key: string) => page.keyboard.press(key)
  const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

  /** Presses Tab until the element has the focus, which must be visible on the way. */
  const tabTo = async (target: Locator) => {
    await target.waitFor()
    for (let tabs = 0; tabs < MAX_TABS; tabs++) {
      if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
      await press('Tab')
      const now = await focused()
      // Inside a frame, its own elements show the focus.
      if (now && !now.name.startsWith('IFRAME'))
        expect(now, `the focus is visible at ${page.url()}`).toMatchObject({ visible: true })
    }
    expect.fail(`Tab does not reach ${target}`)
  }
  const type = async (target: Locator, text: string) => {
    await tabTo(target)
    await press('Control+a')
    await page.keyboard.type(text)
  }
  /** Types within one turn of the page's event loop, so that the page sees no pause between two letters. */
  const typeWithoutPause = async (target: Locator, text: string) => {
    await tabTo(target)
    await press('Control+a')
    await target.evaluate(
      (element, letters) => {
        for (const letter of letters) element.ownerDocument.execCommand('insertText', false, letter)
      },
      [...text],
    )
  }
  const activate = async (target: Locator) => {
    await tabTo(target)
    await press('Enter')
  }
  /** Runs a command of the palette. */
  const command = async (text: string) => {
    await press('Control+k')
    // The palette takes the focus shortly after it is shown.
    await page.locator('[role=combobox]:focus').waitFor()
    await page.keyboard.type(text)
    await page.locator('[role=option][data-highlighted]', { hasText: text }).waitFor()
    await press('Enter')
    await page.getByRole('dialog', { name: 'Go to' }).waitFor({ state: 'detached' })
  }
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  it('signs in', async () => {
    await page.goto(`${baseUrl}/console/`)
    await type(page.getByLabel('Email'), waymark.email)
    await type(page.getByLabel('Password'), waymark.password)
    await press('Enter')
    await heading('Home')
    // The request for the current account was answered with 401 before the sign-in.
    failures.length = 0
  })

  it('skips the navigation', async () => {
    await page.reload()
    await loaded(page)
    await press('Tab')
    expect(await focused()).toMatchObject({ name: 'A Skip to the content', visible: true })
    await press('Enter')
    await press('Tab')
    const inContent = `document.activeElement.closest('main') !== null`
    expect(await page.evaluate<boolean>(inContent)).toBe(true)
  })

  it('reaches every element of a page once and leaves it again', async () => {
    for (const name of ['Home', 'Explore', 'Links', 'Settings']) {
      await command(name)
      await heading(name)
      await loaded(page)
      await page.evaluate(`document.querySelector('a[href="#content"]').focus()`)
      const seen = new Set([(await focused())?.id])
      let now: Focused
      do {
        await press('Tab')
        now = await focused()
        if (now === undefined || seen.has(now.id)) break
        expect(now).toMatchObject({ visible: true })
        seen.add(now.id)
      } while (seen.size <= MAX_TABS)
      expect(seen.size).toBeGreaterThan(15)
      // After the last element, the focus leaves the page or begins again.
      expect([undefined, 'A Skip to the content']).toContain(now?.name)
    }
  })

  it('creates a dashboard', async () => {
    await command('Dashboards')
    await heading('Dashboards')
    await activate(button('Create dashboard').first())
    await type(page.getByRole('dialog', { name: 'Create dashboard' }).getByLabel('Name'), 'Every morning')
    await press('Enter')
    await heading('Every morning')
  })

  it('builds a funnel', async () => {
    await command('Explore')
    await heading('Explore')
    await activate(page.getByRole('link', { name: 'Funnel' }))
    for (const [step, name] of [
      ['Step 1', 'product_viewed'],
      ['Step 2', 'order_placed'],
    ] as const) {
      await type(page.getByRole('group', { name: step }).getByLabel('Event'), name)
      await press('Tab')
    }
    await page.getByText('come to the last step').waitFor()
    expect(new URL(page.url()).searchParams.get('steps')).toContain('order_placed')
  })

  it('saves the funnel to the dashboard, and opens it there', async () => {
    await activate(button('Save'))
    const dialog = page.getByRole('dialog', { name: 'Save insight' })
    await type(dialog.getByLabel('Name'), 'From seeing to buying')
    await tabTo(dialog.getByLabel('Dashboard'))
    await page.keyboard.type('Every')
    await activate(dialog.getByRole('button', { name: 'Save insight' }))
    await button('Save as new').waitFor()
    await command('Dashboards')
    await heading('Dashboards')
    await activate(page.getByRole('link', { name: 'Every morning' }))
    await heading('Every morning')
    await page.getByText('100% come to the last step').waitFor()
  })

  it('creates a link and follows it, and returns the focus of a dialog that is closed', async () => {
    await command('Links')
    await heading('Links')
    const create = button('Create link').first()
    await activate(create)
    const dialog = page.getByRole('dialog', { name: 'Create link' })
    await dialog.waitFor()
    await press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expect
      .poll(() => create.evaluate((element) => element === element.ownerDocument.activeElement))
      .toBe(true)

    await command('Create a link')
    const shop = createServer((_, response) => response.end('The sale'))
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void shop.close())
    const { port } = shop.address() as AddressInfo
    await type(dialog.getByLabel('Destination'), `http://127.0.0.1:${port}/sale`)
    await type(dialog.getByLabel('Code'), 'by-keyboard')
    await press('Enter')
    await heading('by-keyboard')

    const opened = page.context().waitForEvent('page')
    await activate(page.getByRole('link', { name: 'Open' }))
    const followed = await opened
    await followed.getByText('The sale').waitFor()
    expect(new URL(followed.url()).pathname).toBe('/sale')
    await followed.close()
  })

  it('creates a pool, gives a code to a person, and sees it redeemed', async () => {
    await command('Create a coupon pool')
    const dialog = page.getByRole('dialog', { name: 'Create pool' })
    await type(dialog.getByLabel('Name'), 'Keyboard')
    await type(dialog.getByLabel('How many'), '10')
    await press('Enter')
    await heading('Keyboard')
    await page.getByText('ready', { exact: true }).waitFor()

    await activate(button('Assign'))
    const assigning = page.getByRole('dialog', { name: 'Assign a code' })
    await type(assigning.getByLabel('Id'), 'user-1')
    await press('Enter')
    const code = await assigning.getByRole('status').locator('code').innerText()
    await press('Escape')
    await assigning.waitFor({ state: 'detached' })
    await post('/api/v1/coupons/redeem', {
      code,
      userId: 'user-1',
      orderId: 'order-1',
      amount: 2_000,
      currency: 'EUR',
    })
    await activate(page.getByRole('link', { name: 'Coupons', exact: true }).first())
    await heading('Coupons')
    await activate(page.getByRole('link', { name: 'Redemptions' }))
    await page.getByRole('table', { name: 'Redemptions' }).getByRole('row', { name: code }).waitFor()
  })

  it('creates a decision and shows its preview', async () => {
    await command('Create a decision')
    await heading('New decision')
    await type(page.getByLabel('Key'), 'by-keyboard')
    await activate(button('Save decision'))
    await heading('by-keyboard')
    await activate(button('Activate'))
    await button('Turn off').waitFor()
    await activate(button('Preview'))
    await activate(button('Show what they get'))
    await page.getByText('SPLIT', { exact: true }).waitFor()
  })

  it('sees an event arrive, opens it and closes it', async () => {
    await command('Live')
    await heading('Live')
    await page.getByRole('status').getByText('listening').waitFor()
    await post('/api/v1/t', { eventName: 'arrived_live', visitorId: 'visitor-1' })
    const event = button('arrived_live')
    await activate(event)
    const drawer = page.getByRole('dialog').filter({ hasText: 'visitor-1' })
    await drawer.waitFor()
    await press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await expect
      .poll(() => event.evaluate((element) => element === element.ownerDocument.activeElement))
      .toBe(true)
  })

  it('goes back through the filters of a page, and sends one request for typed text', async () => {
    await command('Links')
    await heading('Links')
    const searched = new Set<string>()
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url())
      if (pathname.endsWith('/links')) searched.add(searchParams.get('q') ?? '')
    })
    await typeWithoutPause(page.getByRole('searchbox', { name: 'Search' }), 'by-key')
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('by-key')
    await page.getByRole('link', { name: 'by-keyboard' }).waitFor()
    // The list without a search may be read meanwhile, and a request that failed is repeated.
    searched.delete('')
    expect([...searched]).toEqual(['by-key'])
    await page.goBack()
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBeNull()
    await expect.poll(() => page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe('')
  })

  it('previews an email once for typed text, and retries after an error', async () => {
    await page.goto(`${baseUrl}/console/p/${waymark.projectId}/email/new`)
    await loaded(page)
    const frame = page.frameLocator('iframe[title=Email]')
    await frame.getByText('Hello Ada').waitFor()
    const previews: Response[] = []
    page.on('response', (response) => {
      if (response.url().endsWith('/preview') && response.ok()) previews.push(response)
    })
    await typeWithoutPause(page.getByLabel('Subject'), 'Good evening, {{traits.name}}')
    await page.getByText('Good evening, Ada').waitFor()
    const shown = (await Promise.all(previews.map((response) => response.json()))) as { subject: string }[]
    const subjects = new Set(shown.map(({ subject }) => subject))
    // The first subject may be asked for meanwhile, and a request that failed is repeated.
    subjects.delete('Welcome, Ada')
    expect([...subjects]).toEqual(['Good evening, Ada'])

    await page.route('**/email-triggers/preview', (route) =>
      route.fulfill({ status: 422, json: { error: 'unprocessable', message: 'Not this time' } }),
    )
    await typeWithoutPause(page.getByLabel('HTML'), '<h1>Bye {{traits.name}}</h1>')
    await page.getByRole('alert').getByText('Not this time').waitFor()
    await page.unroute('**/email-triggers/preview')
    await activate(button('Try again'))
    await frame.getByText('Bye Ada').waitFor()

    await type(page.getByLabel('Example person and event'), '{"traits":')
    await page.getByRole('alert').getByText('The example is not valid JSON').waitFor()
    forgetFailures(failures, /status of 422/)
  })

  it('has had no error, refused request or violation of its policy', () => {
    expect(failures).toEqual([])
  })
})
