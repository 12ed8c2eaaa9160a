import {
  CLIENT_ID,
  CLIENT_SECRET,
  type Constellation,
  startProvider,
  startStandalone,
  type TestProvider,
} from '@waymark/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, expectAccessible, openConsole } from './console-browser.ts'

describe.skipIf(CHROMIUM === undefined)('single sign-on in the console', () => {
  let waymark: Constellation
  let idp: TestProvider
  let browser: Browser
  let page: Page
  let baseUrl = ''
  let project = ''
  let failures: string[] = []

  beforeAll(async () => {
    idp = await startProvider()
    idp.accounts.set('1', { email: 'ada@example.com', email_verified: true, name: 'Ada' })
    idp.signsIn = '1'
    waymark = await startStandalone({ OIDC_ALLOW_PRIVATE_ADDRESSES: 'true' })
    ;({ baseUrl, browser, page, failures, project } = await openConsole(waymark, {
      reducedMotion: 'reduce',
    }))
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
    await idp?.stop()
  })

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const providerIn = () => page.getByRole('listitem').filter({ hasText: idp.issuer })

  it('is set up by an owner', async () => {
    await page.goto(`${project}/settings/single-sign-on`)
    await button('Add provider').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Company')
    await dialog.getByLabel('Issuer').fill('http://localhost:9')
    await dialog.getByLabel('Client id').fill(CLIENT_ID)
    await dialog.getByLabel('Client secret').fill(CLIENT_SECRET)
    await dialog.getByRole('button', { name: 'Add provider' }).click()
    await dialog.getByText(/cannot be used: the connection failed/).waitFor()
    failures.length = 0
    await dialog.getByLabel('Issuer').fill(idp.issuer)
    await dialog.getByRole('button', { name: 'Add provider' }).click()
    await providerIn().getByText(`${baseUrl}/api/auth/oidc/`).first().waitFor()
    expect(await page.content()).not.toContain(CLIENT_SECRET)

    await page.getByLabel('Domain', { exact: true }).fill('waymark-test.invalid')
    await button('Add domain').click()
    await page.getByText('_waymark.waymark-test.invalid TXT waymark-domain=').waitFor()
    await expectAccessible(page)
  })

  it('is linked on the page of the account', async () => {
    await page.goto(`${project}/settings/account`)
    await button('Link Company').click()
    await button('Unlink').waitFor()
    expect(page.url()).toBe(`${project}/settings/account`)
    await page.getByText('of Ada, ada@example.com').waitFor()
    expect(idp.requests).toContain('POST /token')
    await expectAccessible(page)
  })

  it('signs in by the link of the provider, and returns to the requested page', async () => {
    const id = /oidc\/([\w-]+)\/callback/.exec(await (await fetchProviders()).text())?.[1] ?? ''
    const other = await browser.newPage()
    const path = new URL(project).pathname.replace('/console', '')
    await other.goto(`${baseUrl}/console/sign-in?provider=${id}&next=${encodeURIComponent(`${path}/live`)}`)
    await expectAccessible(other)
    await other.getByRole('button', { name: 'Continue with single sign-on' }).click()
    await other.getByRole('heading', { level: 1, name: 'Live' }).waitFor()
    await other.context().close()
  })

  const fetchProviders = () => page.request.get(`${baseUrl}/api/tenant/oidc-providers`)

  it('says why a sign-in failed', async () => {
    idp.accounts.set('2', { email: 'eve@example.com', email_verified: true })
    idp.signsIn = '2'
    const id = /oidc\/([\w-]+)\/callback/.exec(await (await fetchProviders()).text())?.[1] ?? ''
    const other = await browser.newPage()
    await other.goto(`${baseUrl}/console/sign-in?provider=${id}`)
    await other.getByRole('button', { name: 'Continue with single sign-on' }).click()
    await other.getByText('your address does not belong to the company').waitFor()
    await other.context().close()
  })

  it('is unlinked on the page of the account', async () => {
    await page.goto(`${project}/settings/account`)
    await button('Unlink').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Unlink' }).click()
    await button('Link Company').waitFor()
  })

  it('has caused no error in the browser', () => expect(failures).toEqual([]))
})
