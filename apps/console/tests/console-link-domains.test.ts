import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  CHROMIUM,
  expectAccessible,
  expectFitting,
  openConsole,
  scrollingTables,
  setTheme,
} from './console-browser.ts'

const HOST = 'go.shop.example'
const VALUE = /^waymark-domain=\S+$/

/** Options of Node.js with which the server reads TXT records from a file instead of asking name servers. */
const readRecordsFrom = (file: string): string => {
  const code = `
    import { Resolver } from 'node:dns/promises'
    import { readFile } from 'node:fs/promises'
    Resolver.prototype.resolveTxt = async (name) => {
      const value = JSON.parse(await readFile(${JSON.stringify(file)}, 'utf8'))[name]
      if (value === undefined) throw Object.assign(new Error('No such record'), { code: 'ENOTFOUND' })
      return [[value]]
    }`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

describe.skipIf(CHROMIUM === undefined)('link domains in the console', () => {
  let waymark: Constellation
  let browser: Browser
  let page: Page
  let folder = ''
  let baseUrl = ''
  let project = ''
  let failures: string[] = []

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-records-'))
    await publish({})
    waymark = await startStandalone({ NODE_OPTIONS: readRecordsFrom(recordsFile()) })
    ;({ baseUrl, browser, page, failures, project } = await openConsole(waymark, {
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    }))
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const recordsFile = () => path.join(folder, 'records.json')
  /** The TXT records of the DNS by name. */
  const publish = (records: Record<string, string>) => writeFile(recordsFile(), JSON.stringify(records))
  const button = (name: string) => page.getByRole('main').getByRole('button', { name, exact: true })
  // Messages about what is done are dialogs too.
  const dialog = () => page.getByRole('dialog', { name: /^(Add domain|Edit|Create link)/ })
  const state = (name: string) => page.getByRole('main').getByText(name, { exact: true }).waitFor()
  const copied = async (name: string, text: RegExp) => {
    await button(name).click()
    const read = () => page.evaluate<string>('navigator.clipboard.readText()')
    await expect.poll(read).toMatch(text)
    return read()
  }
  /** Where the server redirects a request for a path of the host. */
  const follow = (pathname: string) =>
    new Promise<string | undefined>((resolve, reject) => {
      get(`${baseUrl}${pathname}`, { headers: { Host: HOST } }, (response) => {
        response.resume()
        resolve(response.headers.location)
      }).on('error', reject)
    })

  it('adds a host, and shows the record that verifies it', async () => {
    await page.goto(`${project}/links`)
    await page.getByRole('navigation', { name: 'Links' }).getByRole('link', { name: 'Domains' }).click()
    await page.getByRole('heading', { name: 'No domains yet' }).waitFor()
    await button('Add domain').first().click()
    await dialog().getByLabel('Host').fill(`${HOST}:8080`)
    await dialog().getByLabel('Root URL').fill('https://shop.example/start')
    await dialog().getByRole('button', { name: 'Add domain' }).click()
    await dialog().getByText('must be a host such as go.shop.example, without a port').waitFor()
    await expectAccessible(page)
    await dialog().getByLabel('Host').fill('GO.Shop.Example.')
    await dialog().getByRole('button', { name: 'Add domain' }).click()

    await page.getByRole('heading', { level: 1, name: HOST }).waitFor()
    await state('not verified')
    await page.getByRole('main').getByText('https://shop.example/start').waitFor()
    await copied('Copy name', /^_waymark\.go\.shop\.example$/)
    await copied('Copy value', VALUE)
  })

  it('verifies it when the record exists', async () => {
    await page.reload()
    await button('Verify').click()
    const problem = page.getByRole('alert').filter({ hasText: `${HOST} has no TXT record _waymark.${HOST}` })
    await problem.waitFor()
    for (const theme of ['light', 'dark'] as const) {
      await setTheme(page, theme)
      await expectAccessible(page)
    }
    await expectFitting(page, 320)
    await page.setViewportSize({ width: 1280, height: 800 })

    await publish({ [`_waymark.${HOST}`]: await copied('Copy value', VALUE) })
    await button('Verify').click()
    await state('verified')
    await problem.waitFor({ state: 'detached' })
    await eventually('its root redirects', async () => (await follow('/')) === 'https://shop.example/start')
  })

  it('changes what it answers without a link', async () => {
    await button('Edit').click()
    expect(await dialog().getByLabel('Host').count()).toBe(0)
    await dialog().getByLabel('Not-found URL').fill('https://shop.example/404')
    await dialog().getByLabel('Expired URL').fill(`http://${HOST}/over`)
    await dialog().getByLabel('assetlinks.json').fill('[{]')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().getByText('assetlinks.json is not valid JSON').waitFor()
    await dialog().getByLabel('assetlinks.json').fill('[{ "relation": ["delegate"] }]')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().getByText('is on the domain itself').waitFor()
    await dialog().getByLabel('Expired URL').fill('')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'assetlinks.json' }).getByText('"delegate"').waitFor()
    await eventually(
      'an unknown code redirects',
      async () => (await follow('/none')) === 'https://shop.example/404',
    )
    await page.reload()
    await page.getByRole('main').getByText('https://shop.example/404').waitFor()
  })

  it('has links, by which the list can be filtered', async () => {
    await page.goto(`${project}/links?new=1`)
    await dialog().getByLabel('Domain').selectOption({ label: HOST })
    await dialog().getByLabel('Destination').fill(`http://${HOST}/loop`)
    await dialog().getByLabel('Code').fill('sale')
    await dialog().getByLabel('Expired URL').fill('https://shop.example/over')
    await dialog().getByRole('button', { name: 'Create link' }).click()
    await dialog().getByText('is a short link itself').waitFor()
    await dialog().getByLabel('Destination').fill('https://shop.example/sale')
    await dialog().getByRole('button', { name: 'Create link' }).click()
    await page.getByRole('heading', { level: 1, name: 'sale' }).waitFor()
    await page.getByRole('main').getByText(`https://${HOST}/sale`, { exact: true }).waitFor()
    expect(await follow('/sale')).toContain('https://shop.example/sale')
    await button('Pause').click()
    await eventually('the paused link redirects to its address', async () =>
      (await follow('/sale'))?.startsWith('https://shop.example/over'),
    )

    // The same code leads elsewhere on the domain of the installation.
    await page.goto(`${project}/links?new=1`)
    await dialog().getByLabel('Destination').fill('https://shop.example/other')
    await dialog().getByLabel('Code').fill('sale')
    await dialog().getByRole('button', { name: 'Create link' }).click()
    await dialog().waitFor({ state: 'detached' })
    await page.goto(`${project}/links`)
    const rows = page.getByRole('table', { name: 'Links' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(2)
    await page.getByLabel('Domain').selectOption({ label: HOST })
    await expect.poll(() => rows.count()).toBe(1)
    await rows.getByRole('link', { name: `${HOST}/sale` }).waitFor()
    await page.reload()
    await expect.poll(() => rows.count()).toBe(1)
  })

  it('has a list of links that fits a phone, with a campaign of the longest name', async () => {
    const campaign = 'a'.repeat(200)
    await page.goto(`${project}/links?new=1`)
    await dialog().getByLabel('Destination').fill('https://shop.example/autumn')
    await dialog().getByLabel('Campaign', { exact: true }).fill(campaign)
    await dialog().getByRole('button', { name: 'Create link' }).click()
    await dialog().waitFor({ state: 'detached' })
    await page.goto(`${project}/links?campaign=${campaign}`)
    await page.getByText('Links of the campaign').waitFor()
    await expect.poll(() => page.getByRole('table', { name: 'Links' }).locator('tbody tr').count()).toBe(1)
    await expectFitting(page, 320)
    expect(await scrollingTables(page)).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  it('is no longer verified after a check without the record, which the audit log says', async () => {
    await page.goto(`${project}/links/domains`)
    await page
      .getByRole('table', { name: 'Domains' })
      .getByRole('row', { name: `${HOST} verified` })
      .waitFor()
    await page.getByRole('link', { name: HOST }).click()
    await publish({})
    await button('Check again').click()
    await page
      .getByRole('alert')
      .filter({ hasText: `${HOST} has no TXT record` })
      .waitFor()
    await state('not verified')
    await page.getByRole('link', { name: 'Show its links' }).click()
    await page.getByRole('link', { name: `${HOST}/sale` }).click()
    await page.getByText(`${HOST} is not verified, so this link does not resolve.`).waitFor()
    await page.goto(`${project}/settings/audit?operation=unverifyLinkDomain`)
    await page.getByRole('table', { name: 'Audit log' }).getByText('unverifyLinkDomain').waitFor()
  })

  it('is deleted after a confirmation, and its links stay', async () => {
    await page.goto(`${project}/links/domains`)
    await page.getByRole('link', { name: HOST }).click()
    await button('Delete').click()
    const confirm = page.getByRole('alertdialog', { name: `Delete ${HOST}?` })
    await confirm.getByText('Its links stay, but no longer resolve.').waitFor()
    await confirm.getByRole('button', { name: 'Delete domain' }).click()
    await page.getByRole('heading', { name: 'No domains yet' }).waitFor()
    await page.getByRole('navigation', { name: 'Links' }).getByRole('link', { name: 'Links' }).click()
    await page.getByRole('link', { name: `${HOST}/sale` }).waitFor()
    await expect.poll(() => page.getByLabel('Domain').count()).toBe(0)
  })

  it('has caused no error in the browser', () =>
    // The refused requests above.
    expect(failures.filter((message) => !message.includes('status of 422'))).toEqual([]))
})
