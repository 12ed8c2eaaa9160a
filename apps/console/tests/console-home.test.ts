import { type Constellation, startStandalone } from '@waymark/testing'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, collectFailures, launchChromium } from './console-browser.ts'

const HOUR_MS = 3_600_000
/** The name of a time zone in which it is about noon now, so that an hour ago is today. */
const noonZone = (): string => {
  const hours = new Date().getUTCHours() - 12
  return `Etc/GMT${hours < 0 ? hours : `+${hours}`}`
}

describe.skipIf(CHROMIUM === undefined)('Home', () => {
  let waymark: Constellation & { email: string; password: string }
  let browser: Browser

  beforeAll(async () => {
    waymark = await startStandalone()
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  it('compares today with yesterday until the same time', async () => {
    const now = Date.now()
    // Three of today, two of yesterday until now, and three of yesterday after that.
    const events = [1, 1, 2, 25, 26, 23, 22, 22].map((hours, number) => ({
      eventName: 'order_placed',
      userId: `user-${number}`,
      eventId: `event-${number}`,
      clientTimestamp: new Date(now - hours * HOUR_MS).toISOString(),
    }))
    const sent = await waymark.request('/internal/backfill/events', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': '' },
      body: JSON.stringify({ events }),
    })
    expect(sent.status, await sent.text()).toBeLessThan(300)

    const page = await browser.newPage({ locale: 'en-GB', timezoneId: noonZone() })
    const failures = collectFailures(page)
    await page.goto(new URL((await waymark.request('/console/')).url).href)
    await page.getByLabel('Email').fill(waymark.email)
    await page.getByLabel('Password').fill(waymark.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    // The request for the current account was answered with 401 before the sign-in.
    failures.length = 0
    for (const title of ['Events today', 'People today']) {
      const figure = page.getByRole('main').locator('section').filter({ hasText: title })
      await expect
        .poll(() => figure.innerText())
        .toMatch(new RegExp(`^${title}\\s+3\\s+\\+50% on yesterday until \\d\\d:\\d\\d$`))
    }
    await page.getByText('no revenue yet').waitFor()
    const days = page.getByRole('table', { name: 'Events and people a day' })
    await expect
      .poll(async () => (await days.locator('tbody tr').allInnerTexts()).slice(-2))
      .toEqual([expect.stringMatching(/\s5\s5$/), expect.stringMatching(/\s3\s3$/)])
    const names = page.getByRole('list', { name: 'Events by name' })
    expect((await names.innerText()).replace(/\s+/g, ' ')).toBe('order_placed 8')
    expect(failures).toEqual([])
  })
})
