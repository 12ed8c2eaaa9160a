import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { eventually } from '@waymark/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const require = createRequire(import.meta.url)
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** The Chromium of this machine; undefined if there is none. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (file) => existsSync(file),
)

/** Options for a Chromium that connects only to the tested server. */
export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

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

/** Waits until the page loads nothing. */
export const loaded = (page: Page): Promise<unknown> =>
  eventually('the page is loaded', async () => (await page.getByLabel('Loading').count()) === 0)

type AxeRun = { violations: { id: string; nodes: { html: string }[] }[] }

/** Fails when axe finds a violation of WCAG 2.2 AA on the page. */
export const expectAccessible = async (page: Page): Promise<void> => {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate<AxeRun>(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
  )
  expect(violations.map(({ id, nodes }) => `${page.url()}: ${id} ${nodes[0]?.html}`)).toEqual([])
}
