import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, expectAccessible, expectFitting, openConsole, setTheme } from './console-browser.ts'

type Json = Record<string, unknown>

const DESKTOP =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

describe.skipIf(CHROMIUM === undefined)('segments in the console', () => {
  let waymark: Constellation
  let browser: Browser
  let page: Page
  let project = ''
  let failures: string[] = []

  beforeAll(async () => {
    waymark = await startStandalone()
    ;({ browser, page, failures, project } = await openConsole(waymark, { reducedMotion: 'reduce' }))
    const apiKey = await keyOf()
    const send = async (path: string, body: Json) => {
      // Scripts count as bots, whose events are not suggested.
      const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json', 'User-Agent': DESKTOP }
      const response = await waymark.request(path, { method: 'POST', headers, body: JSON.stringify(body) })
      expect(response.ok).toBe(true)
    }
    for (const [n, plan] of ['pro', 'pro', 'free'].entries()) {
      const userId = `user-${n}`
      await send('/api/v1/identify', {
        visitorId: `visitor-${n}`,
        userId,
        traits: { plan, name: `Person ${n}` },
      })
      for (let order = 0; order < n; order++)
        await send('/api/v1/t?sync=1', { eventName: 'order_placed', userId, visitorId: `visitor-${n}` })
    }
    await eventually('all are stored', async () => {
      const condition = {
        filters: [{ property: 'traits.plan', op: 'exists' }],
        counts: [{ eventName: 'order_placed', days: 1, op: 'gte', value: 1 }],
      }
      return (await api('segments/preview', 'POST', { condition })).people === 2
    })
    await eventually('all traits are stored', async () => {
      const condition = { filters: [{ property: 'traits.plan', op: 'exists' }] }
      return (await api('segments/preview', 'POST', { condition })).people === 3
    })
  })
  afterAll(async () => {
    await browser?.close()
    await waymark?.stop()
  })

  const api = (resource: string, method: string, body?: Json) =>
    page.evaluate(
      async ({ url, method, body }) => {
        const headers = { 'Content-Type': 'application/json' }
        const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
        return (await response.json()) as Json
      },
      { url: `/api/projects/${project.split('/').at(-1)}/${resource}`, method, body },
    )
  /** A key of the user's project. */
  const keyOf = async (): Promise<string> => {
    const { key } = await api('api-keys', 'POST', {
      name: 'Server',
      kind: 'sec',
      scopes: ['events:write', 'decide'],
    })
    return String(key)
  }
  const button = (name: string) => page.getByRole('main').getByRole('button', { name, exact: true })
  const form = () => page.getByRole('main')
  const pick = async (field: ReturnType<Page['getByRole']>, value: string) => {
    await field.click()
    await page.getByRole('option', { name: value, exact: true }).click()
  }
  const people = () => form().getByRole('region', { name: 'People in the segment' })

  it('creates one from known names and values, and shows how many people it has', async () => {
    await page.goto(`${project}/people`)
    await page.getByRole('navigation', { name: 'People' }).getByRole('link', { name: 'Segments' }).click()
    await page.getByRole('heading', { name: 'No segments yet' }).waitFor()
    await button('Create segment').first().click()
    await people().getByText('Complete the filters and counts').waitFor()
    await form().getByLabel('Key').fill('regulars')
    await form().getByLabel('Name').fill('Regular customers')
    const filter = form().getByRole('group', { name: 'Filter 1' })
    await pick(filter.getByLabel('Property'), 'traits.plan')
    await pick(filter.getByLabel('Value'), 'pro')
    await people().getByText('2 people').waitFor()
    await form().getByRole('button', { name: 'Add count of events' }).click()
    const count = form().getByRole('group', { name: 'Count 1' })
    await pick(count.getByLabel('Event'), 'order_placed')
    await people().getByText('1 person').waitFor()
    await people().getByRole('link', { name: 'Person 1' }).waitFor()
    for (const theme of ['light', 'dark'] as const) {
      await setTheme(page, theme)
      await expectAccessible(page)
    }
    await form().getByRole('button', { name: 'Create segment' }).click()
    await page.getByRole('heading', { level: 1, name: 'Regular customers' }).waitFor()
    await page.getByRole('main').getByText('order_placed at least once in 30 days').waitFor()
    await page.getByText('1 person').waitFor()
    await expectAccessible(page)
    await expectFitting(page, 320)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  it('refuses a key twice, and names the field', async () => {
    await page.goto(`${project}/people/segments?open=new`)
    await form().getByLabel('Key').fill('regulars')
    await form().getByLabel('Name').fill('Again')
    const filter = form().getByRole('group', { name: 'Filter 1' })
    await pick(filter.getByLabel('Property'), 'traits.plan')
    await filter.getByLabel('Comparison').selectOption('exists')
    await form().getByRole('button', { name: 'Create segment' }).click()
    await form().getByText('must not be the key of another segment').waitFor()
  })

  it('limits a rule of a decision', async () => {
    await page.goto(`${project}/decisions/_new`)
    await page.getByLabel('Key').fill('banner')
    await page.getByLabel('Condition').fill('{"!": {"var": "context.hidden"}}')
    await pick(page.getByLabel('Limit rule 1 to'), 'Regular customers')
    await expect
      .poll(() => page.getByLabel('Condition').inputValue())
      .toBe('{"and":[{"!":{"var":"context.hidden"}},{"segment":"regulars"}]}')
    await page.getByLabel('They get').selectOption('on')
    await button('Save decision').click()
    await page.getByRole('heading', { level: 1, name: 'banner' }).waitFor()
    const previewFor = async (userId: string) => {
      const { ifActive } = await api('decisions/banner/preview', 'POST', { userId })
      return (ifActive as Json).variant
    }
    // Orders from before the segment are counted some seconds later.
    await eventually('the earlier order counts', async () => (await previewFor('user-1')) === 'on')
    expect([await previewFor('user-0'), await previewFor('user-2')]).toEqual(['off', 'off'])
  })

  it('is changed, and deleted only when no rule refers to it', async () => {
    await page.goto(`${project}/people/segments`)
    await page.getByRole('link', { name: 'Regular customers' }).click()
    await button('Edit').click()
    await form().getByLabel('People match').selectOption('any')
    await people().getByText('3 people').waitFor()
    await form().getByRole('button', { name: 'Save' }).click()
    await page.getByText('People match any of these.').waitFor()
    const confirm = page.getByRole('alertdialog', { name: 'Delete Regular customers?' })
    await button('Delete').click()
    await confirm.getByRole('button', { name: 'Delete segment' }).click()
    await confirm.getByText('banner').waitFor()
    await confirm.getByRole('button', { name: 'Cancel' }).click()
    await api('decisions/banner/archive', 'POST')
    await button('Delete').click()
    await confirm.getByRole('button', { name: 'Delete segment' }).click()
    await page.getByRole('heading', { name: 'No segments yet' }).waitFor()
  })

  it('finds a segment, a pool and a selector that are not among the first hundred', async () => {
    const oldest = []
    // The newest are listed first.
    for (let n = 0; n <= 100; n++) {
      const condition = { filters: [{ property: 'traits.plan', op: 'exists' }] }
      const created = await Promise.all([
        api('coupon-pools', 'POST', {
          name: `Pool ${n}`,
          kind: 'shared',
          discount: { type: 'free_shipping' },
        }),
        api('segments', 'POST', { key: `segment-${n}`, name: `Segment ${n}`, condition }),
        api('metering-selectors', 'POST', { eventName: `event ${n}` }),
      ])
      expect(created.map(({ id }) => typeof id)).toEqual(['string', 'string', 'string'])
      if (n === 0) oldest.push(...created.map(({ id }) => id))
    }
    await page.goto(`${project}/decisions/_new`)
    await page.getByLabel('Key').fill('found')
    const search = async (field: ReturnType<Page['getByRole']>, text: string, found: string) => {
      await field.fill(text)
      await page.getByRole('option', { name: found, exact: true }).click()
    }
    const coupon = page.getByLabel('Coupon from').first()
    await search(coupon, 'pool 0', 'Pool 0')
    await search(page.getByLabel('Limit rule 1 to'), 'segment 0', 'Segment 0')
    await button('Add metric').click()
    await search(page.getByLabel('Of', { exact: true }), 'event 0', 'conversions by event 0')
    // Text that is no choice is not kept.
    await coupon.fill('nothing')
    await page.getByText('Nothing found').waitFor()
    await page.getByLabel('Key').click()
    await expect.poll(() => coupon.inputValue()).toBe('Pool 0')
    await button('Save decision').click()
    await page.getByRole('heading', { level: 1, name: 'found' }).waitFor()
    const saved = JSON.stringify(await api('decisions/found', 'GET'))
    expect(saved).toContain(`"couponPoolId":"${oldest[0]}"`)
    expect(saved).toContain('{"segment":"segment-0"}')
    expect(saved).toContain(`"selectorId":"${oldest[2]}"`)
  })

  it('has caused no error in the browser', () =>
    // The refused requests above.
    expect(failures.filter((message) => !/status of (409|422)/.test(message))).toEqual([]))
})
