import {
  CLIENT_ID,
  CLIENT_SECRET,
  type Constellation,
  startProvider,
  startStandalone,
  type TestProvider,
} from '@waymark/testing'
import { generate } from 'otplib'
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
    const other = await browser.newPage({ reducedMotion: 'reduce' })
    const path = new URL(project).pathname.replace('/console', '')
    await other.goto(`${baseUrl}/console/sign-in?provider=${id}&next=${encodeURIComponent(`${path}/live`)}`)
    await expectAccessible(other)
    await other.getByRole('button', { name: 'Continue with single sign-on' }).click()
    await other.getByRole('heading', { level: 1, name: 'Live' }).waitFor()
    await other.context().close()
  })

  const fetchProviders = () => page.request.get(`${baseUrl}/api/tenant/oidc-providers`)

  it('asks for a sign-in at the provider before what destroys, and then continues', async () => {
    const id = /oidc\/([\w-]+)\/callback/.exec(await (await fetchProviders()).text())?.[1] ?? ''
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    const other = await context.newPage()
    await other.goto(`${baseUrl}/console/sign-in?provider=${id}`)
    await other.getByRole('button', { name: 'Continue with single sign-on' }).click()
    await other.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    const made = await context.request.post(`${baseUrl}/api/projects`, {
      headers: { Origin: baseUrl },
      data: { name: 'Short' },
    })
    const { id: short } = (await made.json()) as { id: string }
    await other.goto(`${baseUrl}/console/p/${short}/settings`)
    // The answer of the API when the sign-in is 10 minutes ago.
    const stale = { error: 'Confirm that it is you', code: 'reauthentication_required', method: 'provider' }
    let asked = 0
    await other.route(`**/api/projects/${short}`, (route) =>
      route.request().method() === 'DELETE' && asked++ === 0
        ? route.fulfill({ status: 403, contentType: 'application/json', body: JSON.stringify(stale) })
        : route.continue(),
    )
    await other.getByRole('button', { name: 'Archive project' }).click()
    await other.getByRole('alertdialog').getByRole('button', { name: 'Archive project' }).click()
    const proof = other.getByRole('dialog', { name: 'Confirm that it is you' })
    const openProvider = async () => {
      const opened = context.waitForEvent('page')
      await proof.getByRole('link', { name: 'Sign in again' }).click()
      return opened
    }
    await proof.getByRole('link', { name: 'Sign in again' }).waitFor()
    await expectAccessible(other)

    idp.signsIn = null
    const refused = await openProvider()
    await refused.getByRole('heading', { level: 1, name: 'It was not confirmed that it is you' }).waitFor()
    await refused.getByText('The sign-in was refused at the provider.').waitFor()
    await expectAccessible(refused)
    await refused.close()
    idp.signsIn = '1'
    await proof.getByText('Sign in in the other tab').waitFor()
    await proof.getByRole('button', { name: 'Begin again' }).click()
    const proved = await openProvider()
    await proved.getByText('You can close this tab').waitFor()
    await expectAccessible(proved)
    await other.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    expect(asked).toBe(2)
    const read = await context.request.get(`${baseUrl}/api/projects/${short}`)
    expect(read.status()).toBe(404)
    await context.close()
  })

  const grace = { email: 'grace@example.com', password: 'a long way to the harbor' }
  const signInAsGrace = async (visitor: Page) => {
    await visitor.goto(`${baseUrl}/console/sign-in`)
    await visitor.getByLabel('Email').fill(grace.email)
    await visitor.getByRole('textbox', { name: 'Password' }).fill(grace.password)
    await visitor.getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  const headers = () => ({ Origin: baseUrl })

  it('closes the projects to passwords of members when it is the only way, and keeps the last provider', async () => {
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    const member = await context.newPage()
    const projectId = project.split('/').at(-1)
    const invited = await page.request.post(`${baseUrl}/api/projects/${projectId}/invitations`, {
      headers: headers(),
      data: { email: grace.email, role: 'viewer' },
    })
    const { token } = (await invited.json()) as { token: string }
    await context.request.post(`${baseUrl}/api/auth/invitations/accept`, {
      headers: headers(),
      data: { token, name: 'Grace', password: grace.password },
    })
    await signInAsGrace(member)
    await member.getByRole('heading', { level: 1, name: 'Home' }).waitFor()

    await page.goto(`${project}/settings/single-sign-on`)
    const only = page.getByRole('switch', { name: 'Only with a provider' })
    await only.click()
    await page.getByText('Saved').first().waitFor()
    await expect.poll(() => only.isChecked()).toBe(true)
    await providerIn().getByRole('button', { name: 'Remove' }).click()
    const confirmation = page.getByRole('alertdialog')
    await confirmation.getByRole('button', { name: 'Remove' }).click()
    await confirmation.getByText('is the last provider: set oidcOnly to false first').waitFor()
    await expectAccessible(page)
    await confirmation.getByRole('button', { name: 'Cancel' }).click()
    await providerIn().waitFor()
    failures.length = 0

    await member.goto(`${baseUrl}/console/`)
    await member.getByText('You are a member of no project').waitFor()
    await page.goto(`${project}/live`)
    await page.getByRole('heading', { level: 1, name: 'Live' }).waitFor()
    await page.goto(`${project}/settings/single-sign-on`)
    await only.click()
    await expect.poll(() => only.isChecked()).toBe(false)
    await member.goto(`${baseUrl}/console/`)
    await member.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await context.close()
  })

  it('has an owner reset the second factor of a member, who then signs in with the password', async () => {
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    const member = await context.newPage()
    await signInAsGrace(member)
    await member.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    const post = (path: string, data: object = {}) =>
      context.request.post(`${baseUrl}/api/auth/${path}`, { headers: headers(), data })
    const { secret } = (await (await post('second-factor')).json()) as { secret: string }
    await post('second-factor/confirm', { code: await generate({ secret }) })

    await page.goto(`${project}/settings/members`)
    const row = page.getByRole('table', { name: 'Members' }).getByRole('row').filter({ hasText: 'Grace' })
    await row.getByRole('cell', { name: 'yes' }).waitFor()
    await row.getByRole('button', { name: 'Reset' }).click()
    await expectAccessible(page)
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove it' }).click()
    await row.getByRole('cell', { name: 'no', exact: true }).waitFor()

    expect((await context.request.get(`${baseUrl}/api/auth/me`)).status()).toBe(401)
    await context.clearCookies()
    await signInAsGrace(member)
    await member.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await context.close()
  })

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
