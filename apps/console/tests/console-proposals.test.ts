import { type Constellation, startStandalone } from '@waymark/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  CHROMIUM,
  expectAccessible,
  expectFitting,
  loaded,
  openConsole,
  setTheme,
} from './console-browser.ts'

const SCREENSHOTS = process.env.SCREENSHOTS

describe.skipIf(CHROMIUM === undefined)('proposals in the console', () => {
  let waymark: Constellation
  let browser: Browser
  let page: Page
  let project = ''
  let baseUrl = ''
  let colleague = ''

  beforeAll(async () => {
    waymark = await startStandalone()
    const options = { reducedMotion: 'reduce', locale: 'en-GB' } as const
    ;({ browser, page, project, baseUrl } = await openConsole(waymark, options))
    colleague = await invite()
    await post('decisions', {
      key: 'checkout',
      name: 'Checkout',
      status: 'active',
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: { color: 'green', steps: 2 } },
      ],
      fallbackVariant: 'off',
      rules: [{ id: 'r', variant: 'on', rollout: 25 }],
    })
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (name: string) => page.getByRole('dialog', { name })
  const open = async (place: string) => {
    await page.goto(`${project}${place}`)
    await loaded(page)
  }
  const projectId = () => project.split('/').at(-1)
  const post = async <T>(path: string, body: object): Promise<T> => {
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    }
    const url = `/api/projects/${projectId()}/${path}`
    return page.evaluate(
      `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then((response) => response.json())`,
    )
  }
  /** The cookie of another editor of the project. */
  const invite = async (): Promise<string> => {
    const email = 'grace@example.com'
    const { token } = await post<{ token: string }>('invitations', { email, role: 'editor' })
    const answer = await waymark.request('/api/auth/invitations/accept', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: baseUrl, 'X-API-Key': '' },
      body: JSON.stringify({ token, name: 'Grace', password: 'a long way to the shop' }),
    })
    expect(answer.status).toBe(200)
    return answer.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
  }
  const proposeAsColleague = async (request: object): Promise<string> => {
    const answer = await waymark.request(`/api/projects/${projectId()}/decisions/checkout/proposals`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Cookie: colleague,
        Origin: baseUrl,
        'X-API-Key': '',
      },
      body: JSON.stringify(request),
    })
    expect(answer.status).toBe(201)
    return ((await answer.json()) as { id: string }).id
  }

  it('are required by a setting', async () => {
    await open('/settings')
    await page.getByLabel('Changes need').selectOption('1 approval')
    await button('Save approvals').click()
    await page.getByText('Approvals saved').first().waitFor()
    await open('/settings')
    expect(await page.getByLabel('Changes need').inputValue()).toBe('1')
  })

  it('take the place of a change that needs approvals, and are bypassed with a reason that stands out', async () => {
    await open('/decisions/checkout?view=rules')
    await page.getByText('Local evaluation: no. Values of a flag').waitFor()
    await page.getByLabel('Holdout, percent').fill('5')
    await button('Save decision').click()
    const form = dialog('Propose this change?')
    await form.getByLabel('Why').fill('To measure all of it')
    await form.getByRole('button', { name: 'Propose' }).click()
    await page.getByRole('heading', { level: 1, name: 'Proposed change of checkout' }).waitFor()
    await page.getByText('0 of 1 approvals by editor, admin, owner').waitFor()
    // Others than the author approve it.
    expect(await button('Approve').count()).toBe(0)
    await button('Bypass').click()
    const bypass = dialog('Apply it without its approvals?')
    await bypass.getByLabel('Reason').fill('Orders fail')
    await bypass.getByRole('button', { name: 'Apply without approvals' }).click()
    await page.getByText('The proposal is applied').first().waitFor()
    await open('/settings/audit?operation=bypassProposal')
    await page.getByText('without approvals').waitFor()
    await page.getByText('Reason: Orders fail').waitFor()
  })

  it('are read side by side and approved with a comment', async () => {
    const id = await proposeAsColleague({
      change: { rules: [{ id: 'r', variant: 'on', rollout: 50 }] },
      comment: 'The first week was fine',
    })
    await open('/decisions/_proposals')
    await page.getByRole('link', { name: 'checkout' }).click()
    await page.getByRole('heading', { level: 1, name: 'Proposed change of checkout' }).waitFor()
    expect(page.url()).toContain(id)
    const before = page.getByRole('region', { name: 'Before' })
    const proposed = page.getByRole('region', { name: 'Proposed', exact: true })
    expect([await before.textContent(), await proposed.textContent()]).toEqual(['Before25', 'Proposed50'])
    for (const theme of ['light', 'dark'] as const) {
      await setTheme(page, theme)
      for (const width of [1_280, 390]) {
        await expectFitting(page, width)
        await expectAccessible(page)
        if (SCREENSHOTS)
          await page.screenshot({ path: `${SCREENSHOTS}/proposal-${theme}-${width}.png`, fullPage: true })
      }
    }
    await setTheme(page, 'light')
    await page.setViewportSize({ width: 1_280, height: 800 })
    await button('Approve').click()
    const form = dialog('Approve this change?')
    await form.getByLabel('Comment').fill('Go')
    await form.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The proposal is applied').first().waitFor()
    await page.getByText('as version 3').waitFor()
    await page.getByText('Go', { exact: true }).waitFor()
  })

  it('are made anew after another change, rejected and withdrawn', async () => {
    const id = await proposeAsColleague({ change: { holdout: 9 } })
    await post('decisions/checkout/pause', {})
    await open(`/decisions/checkout/proposals/${id}`)
    await page.getByText('which withdrew the approvals').waitFor()
    await button('Make anew').click()
    await page.getByText('Made anew from the newest version').first().waitFor()
    await button('Withdraw').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Withdraw' }).click()
    await page.getByText('Proposal withdrawn').first().waitFor()
    const other = await proposeAsColleague({ change: { status: 'active' } })
    await open(`/decisions/checkout/proposals/${other}`)
    await button('Reject').click()
    const form = dialog('Reject this change?')
    await form.getByLabel('Why').fill('Not before the sale is over')
    await form.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('The proposal is rejected').first().waitFor()
    await page.getByText('Not before the sale is over').waitFor()
    await open('/decisions/_proposals?status=rejected')
    expect(await page.getByRole('link', { name: 'checkout' }).count()).toBe(1)
  })
})
