import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, expectAccessible, expectFitting, openConsole, setTheme } from './console-browser.ts'

const PASSWORD = 'open sesame'
/** Clicks of a headless browser would be those of a bot. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'

describe.skipIf(CHROMIUM === undefined)(
  'passwords, variants and preview cards of links in the console',
  () => {
    let waymark: Constellation
    let browser: Browser
    let page: Page
    let baseUrl = ''
    /** The server under another origin. */
    let elsewhere = ''
    let project = ''
    let failures: string[] = []

    beforeAll(async () => {
      waymark = await startStandalone()
      ;({ baseUrl, browser, page, failures, project } = await openConsole(waymark, {
        reducedMotion: 'reduce',
      }))
      elsewhere = baseUrl.replace('localhost', '127.0.0.1')
    })
    afterAll(async () => {
      await browser?.close()
      await waymark?.stop()
    })

    // Messages about what is done are dialogs too.
    const dialog = () => page.getByRole('dialog', { name: /^(Edit|Create link)/ })
    const press = (name: string) => dialog().getByRole('button', { name, exact: true }).click()
    const fill = (label: string, value: string) => dialog().getByLabel(label, { exact: true }).fill(value)
    const main = () => page.getByRole('main')

    it('creates a link with all of them, and shows how the card looks', async () => {
      await page.goto(`${project}/links?new=1`)
      await fill('Destination', 'https://shop.example/')
      await fill('Code', 'secret')
      await fill('Password', PASSWORD)
      for (const [n, [key, path, weight]] of [
        ['one', 'healthz', '3'],
        ['two', 'readyz', '1'],
      ].entries()) {
        await press('Add variant')
        await fill(`Key of variant ${n + 1}`, `${key}`)
        await fill(`Destination of variant ${n + 1}`, `${elsewhere}/${path}`)
        await fill(`Weight of variant ${n + 1}`, `${weight}`)
      }
      await dialog().getByText('one 75%, two 25%').waitFor()
      await fill('Card title', 'Autumn <b>sale</b>')
      await fill('Card description', 'Half price')
      await fill('Card image', 'https://shop.example/sale.png')
      const preview = dialog().getByRole('figure', { name: 'Preview of the card' })
      await preview.getByText('Autumn <b>sale</b>').waitFor()
      await preview.getByText('Half price').waitFor()
      await preview.getByText('Image: https://shop.example/sale.png').waitFor()
      for (const theme of ['light', 'dark'] as const) {
        await setTheme(page, theme)
        await expectAccessible(page)
      }
      await expectFitting(page, 320)
      await page.setViewportSize({ width: 1280, height: 800 })
      await press('Create link')

      await page.getByRole('heading', { level: 1, name: 'secret' }).waitFor()
      await main().getByText('required', { exact: true }).waitFor()
      await main().getByText('Autumn <b>sale</b>').waitFor()
      await main()
        .getByRole('table', { name: 'Variants' })
        .getByRole('row', { name: /^one .* 75%/ })
        .waitFor()
      expect(await page.content()).not.toContain(PASSWORD)
      await expectAccessible(page)
    })

    it('asks visitors for the password, and redirects them to another site', async () => {
      const context = await browser.newContext({ userAgent: USER_AGENT })
      const visitor = await context.newPage()
      await visitor.goto(`${baseUrl}/s/secret`)
      await visitor.getByRole('heading', { level: 1, name: 'This link needs a password' }).waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await visitor.emulateMedia({ colorScheme })
        await expectAccessible(visitor)
      }
      await expectFitting(visitor, 320)
      await visitor.getByLabel('Password').fill('open barley')
      await visitor.getByRole('button', { name: 'Continue' }).click()
      await visitor.getByRole('alert').filter({ hasText: 'The password is wrong' }).waitFor()
      await expectAccessible(visitor)
      await visitor.getByLabel('Password').fill(PASSWORD)
      await visitor.getByRole('button', { name: 'Continue' }).click()
      await visitor.waitForURL((url) => url.origin === elsewhere && url.searchParams.has('wm_click'))
      const place = new URL(visitor.url()).pathname
      // The browser remembers the password, and the visitor keeps the variant.
      await visitor.goto(`${baseUrl}/s/secret`)
      expect(new URL(visitor.url()).origin + new URL(visitor.url()).pathname).toBe(`${elsewhere}${place}`)
      await context.close()
      await page.reload()
      const row = main()
        .getByRole('table', { name: 'Variants' })
        .getByRole('row', { name: place === '/healthz' ? /^one / : /^two / })
      await eventually('the clicks are shown', async () => {
        const cells = await row.getByRole('cell').allTextContents()
        return cells[2] === '2'
      })
    })

    it('changes them, and shows the errors of the API', async () => {
      const edit = async () => {
        await main().getByRole('button', { name: 'Edit', exact: true }).click()
        await dialog().waitFor()
      }
      await edit()
      expect(await dialog().getByLabel('New password').inputValue()).toBe('')
      await fill('Key of variant 2', 'one')
      await press('Save')
      await dialog().getByText('is the key of another variant').waitFor()
      await press('Remove variant 2')
      await dialog().getByRole('switch', { name: 'Remove the password' }).click()
      await fill('Card image', '')
      await press('Save')
      await dialog().waitFor({ state: 'detached' })
      await main()
        .getByRole('row', { name: /^one .* 100%/ })
        .waitFor()
      await main()
        .getByRole('row', { name: /^two removed/ })
        .waitFor()
      await expect.poll(() => main().getByText('required', { exact: true }).count()).toBe(0)
      await eventually('the link redirects without a password', async () => {
        const { status } = await waymark.request('/s/secret', { redirect: 'manual' })
        return status === 302
      })
    })

    it('imports links with domains from CSV, and names an unknown domain', async () => {
      await page.goto(`${project}/links`)
      await main().getByRole('button', { name: 'Import', exact: true }).click()
      const importing = page.getByRole('dialog', { name: 'Import links' })
      await importing
        .getByLabel('Links as CSV')
        .fill('destination,code,campaign,domain\nhttps://shop.example/,summer,,go.unknown.example')
      await importing.getByRole('region', { name: 'Preview' }).getByText('go.unknown.example').waitFor()
      await importing.getByRole('button', { name: 'Create 1 link' }).click()
      await importing.getByText('is not a link domain of this project').waitFor()
      await expectAccessible(page)
    })

    it('has caused no error in the browser', () => {
      // The refused requests above.
      expect(failures.filter((message) => !message.includes('status of 422'))).toEqual([])
    })
  },
)
