import { execFileSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { eventually, startStandalone } from '@waymark/testing'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, expectAccessible, loaded, openConsole } from './console-browser.ts'

/** Not the name of a test browser, which counts as a bot. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

describe.skipIf(!CHROMIUM)('the page Web', () => {
  let waymark: Awaited<ReturnType<typeof startStandalone>>
  let opened: Awaited<ReturnType<typeof openConsole>>
  let site: Server
  let line = ''
  const visitors: BrowserContext[] = []

  beforeAll(async () => {
    execFileSync(process.execPath, [path.join(import.meta.dirname, '../../../libs/web-sdk/build.mjs')])
    waymark = await startStandalone({ REGISTRATION_MODE: 'open' })
    opened = await openConsole(waymark, { reducedMotion: 'reduce' })
    site = createServer((_req, res) => {
      res.setHeader('Content-Type', 'text/html')
      res.end(`<title>Shop</title>${line}`)
    }).listen(0)
  })
  afterAll(async () => {
    await opened?.browser.close()
    site?.close()
    await waymark?.stop()
  })

  /** Somebody opens a page of the site. */
  const visit = async (place: string): Promise<void> => {
    const context = await opened.browser.newContext({ userAgent: USER_AGENT })
    visitors.push(context)
    const page = await context.newPage()
    const sent = page.waitForResponse((response) => response.url().includes('/api/v1/t'))
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}${place}`)
    expect((await sent).status()).toBe(202)
  }

  it('gives a line for pages, shows the first page view, and filters everything by a row', async () => {
    const { page, project, failures } = opened
    await page.goto(`${project}/web`)
    await loaded(page)
    await page.getByText('Waiting for the first page view').waitFor()
    await page.getByRole('button', { name: 'Create a key for this line' }).click()
    const code = page.getByText(/<script async src=".*data-key="wm_pub_/)
    await code.waitFor()
    line = (await code.textContent())?.trim() ?? ''
    await visit('/sale?utm_source=news&utm_medium=email')
    const figure = (name: string) => page.getByRole('button', { name: new RegExp(`^${name}`) })
    await expect.poll(() => figure('Visits').textContent()).toMatch(/^Visits1/)
    await visit('/')
    await visit('/')
    await eventually('all visits are counted', async () => {
      await page.reload()
      await figure('Visits').waitFor()
      return /^Visits3/.test((await figure('Visits').textContent()) ?? '')
    })
    await expect.poll(() => figure('Visits').textContent()).toMatch(/^Visits3/)
    await expect.poll(() => figure('Page views').textContent()).toMatch(/^Page views3/)
    await page.getByText('3 online now').waitFor()
    expect(await page.getByText('The dashed line is the time before').count()).toBe(0)
    await expectAccessible(page)
    await page.getByRole('table', { name: 'Channel' }).getByRole('button', { name: 'Email' }).click()
    await expect.poll(() => figure('Visits').textContent()).toMatch(/^Visits1/)
    expect(new URL(page.url()).searchParams.get('filters')).toBe('[["visit.channel","email"]]')
    await page.reload()
    await expect.poll(() => figure('Visits').textContent()).toMatch(/^Visits1/)
    const rowsOf = (name: string) => page.getByRole('table', { name }).getByRole('button').allTextContents()
    await expect.poll(() => rowsOf('Page')).toEqual(['/sale'])
    await page.getByRole('button', { name: 'Remove the filter Channel' }).click()
    await expect.poll(() => figure('Visits').textContent()).toMatch(/^Visits3/)
    await page.getByRole('button', { name: 'Entry page' }).click()
    await expect.poll(() => rowsOf('Entry page')).toEqual(['/', '/sale'])
    await figure('Bounce rate').click()
    await page.getByRole('heading', { name: 'Bounce rate' }).waitFor()
    expect(new URL(page.url()).searchParams.get('metric')).toBe('bounceRate')
    expect(failures).toEqual([])
  })

  it('names a goal that is not among the first hundred', async () => {
    const { page, project, failures } = opened
    // The newest are listed first.
    const names = ['page_view', ...Array.from({ length: 100 }, (_, n) => `event ${n}`)]
    const created = await page.evaluate<number[]>(`(async () => {
      const statuses = []
      for (const eventName of ${JSON.stringify(names)}) {
        const response = await fetch('/api/projects/${project.split('/').at(-1)}/metering-selectors', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ eventName }),
        })
        statuses.push(response.status)
      }
      return statuses
    })()`)
    expect(new Set(created)).toEqual(new Set([201]))
    const goals = page.getByRole('table', { name: 'Goals' })
    await eventually('a page view is a conversion', async () => {
      await visit('/')
      await page.goto(`${project}/web`)
      await page.getByRole('heading', { name: 'Goals' }).waitFor()
      return (await goals.count()) > 0
    })
    await goals.getByRole('row', { name: /^page_view/ }).waitFor()
    expect(failures).toEqual([])
  })
})
