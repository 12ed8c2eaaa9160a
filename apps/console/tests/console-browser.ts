import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Constellation, eventually } from '@waymark/testing'
import { CHROMIUM, launchChromium } from '@waymark/testing/chromium'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'

const require = createRequire(import.meta.url)
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

export { CHROMIUM, launchChromium }

/** Signs someone up, which leads to Home. */
export const signUp = async (page: Page): Promise<void> => {
  await page.getByLabel('Name', { exact: true }).fill('Ada')
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill('a long way to the shop')
  await page.getByRole('button', { name: 'Sign up' }).click()
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
}

/** Opens the console in a browser, with a new user on Home. `project` is the address of the user's project. */
export const openConsole = async (waymark: Constellation, options: BrowserContextOptions = {}) => {
  const baseUrl = new URL((await waymark.request('/healthz')).url).origin
  const browser = await launchChromium()
  const page = await browser.newPage(options)
  const failures = collectFailures(page)
  await page.goto(`${baseUrl}/console/sign-up`)
  await signUp(page)
  return { baseUrl, browser, page, failures, project: page.url().replace(/\/$/, '') }
}

/** The last message is Chromium's for an event stream that was answered with 429 or 503. */
const ASKED_AGAIN =
  /status of (429|503)|net::ERR_NETWORK_CHANGED|MIME type \("application\/json"\) that is not "text\/event-stream"/

/**
 * Collects errors, refused requests and policy violations of a page: all are messages of the kind "error".
 * 429 of queries, 503 and changes of the network are ignored, because the page retries them.
 */
export const collectFailures = (page: Page): string[] => {
  const failures: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !ASKED_AGAIN.test(message.text()))
      failures.push(`${page.url()}: ${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => failures.push(`${page.url()}: ${error.message}`))
  return failures
}

/** Removes what a test has caused on purpose from the failures of a page, which go on being collected. */
export const forgetFailures = (failures: string[], expected: RegExp): void => {
  failures.splice(0, failures.length, ...failures.filter((message) => !expected.test(message)))
}

/** Waits until the page shows its heading and loads nothing. */
export const loaded = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await eventually('the page is loaded', async () => (await page.getByLabel('Loading').count()) === 0)
}

/** Goes to another page as a link does, without loading the console again, or loads the same one again. */
export const navigate = async (page: Page, url: string): Promise<void> => {
  if (new URL(url, page.url()).href === page.url()) {
    await page.reload()
    return loaded(page)
  }
  await page.evaluate(
    `document.querySelector('h1')?.setAttribute('data-page', 'before'); history.pushState({}, '', ${JSON.stringify(url)})`,
  )
  await page.locator('h1[data-page=before]').waitFor({ state: 'detached' })
  await loaded(page)
}

/** The elements that make the page wider than the window. */
const TOO_WIDE = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth)
  .map((element) => element.tagName + ' ' + element.className)`

/** Fails when the page scrolls sideways, and names what is wider than the window. */
export const expectFitting = async (page: Page, width: number): Promise<void> => {
  await page.setViewportSize({ width, height: 800 })
  // A chart gets its new size a frame later.
  await expect
    .poll(() => page.evaluate<string[]>(TOO_WIDE), { interval: 20, message: `${page.url()} at ${width} px` })
    .toEqual([])
}

const SCROLLING_TABLES = `[...document.querySelectorAll('section[tabindex="0"]:has(table)')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((section) => section.getAttribute('aria-label') + ' ' + section.scrollWidth + ' > ' + section.clientWidth)`

/** The tables of the page that scroll sideways in a window of the present size, each with its widths. */
export const scrollingTables = (page: Page): Promise<string[]> => page.evaluate<string[]>(SCROLLING_TABLES)

/** Shows light or dark, as the button of the account's menu does, and waits until all colors have changed. */
export const setTheme = (page: Page, theme: 'light' | 'dark'): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    document.documentElement.dataset.theme = '${theme}'
    dispatchEvent(new Event('themechange'))
    requestAnimationFrame(() => requestAnimationFrame(() => resolve()))
  })`)

type AxeRun = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
export type AxeScope = {
  /** A selector of the part to check. Default: the document. */
  within?: string
  /** A selector of what is not checked. */
  without?: string
  /** The rows of each table that are checked. Default: all. */
  rows?: number
}

/** Fails when axe finds a violation of WCAG 2.2 AA on the page. */
export const expectAccessible = async (
  page: Page,
  { within = 'html', without, rows = Infinity }: AxeScope = {},
): Promise<void> => {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE)
  const options = {
    runOnly: WCAG,
    resultTypes: ['violations'],
    preload: false,
  }
  const context = { include: [[within]], exclude: without === undefined ? [] : [[without]] }
  const { violations } = await page.evaluate<AxeRun>(
    `(async () => {
      const further = new CSSStyleSheet()
      if (${rows} < Infinity) further.insertRule('tbody tr:nth-child(n + ${rows + 1}) { display: none !important }')
      const before = document.adoptedStyleSheets
      document.adoptedStyleSheets = [...before, further]
      try {
        return await axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)})
      } finally {
        document.adoptedStyleSheets = before
      }
    })()`,
  )
  const found = violations.map(
    ({ id, nodes }) => `${page.url()}: ${id} ${nodes[0]?.html} ${nodes[0]?.failureSummary}`,
  )
  expect(found).toEqual([])
}
