import { describe, expect, it } from 'vitest'
import {
  type ReportFigure,
  type ReportMessage,
  reportHtml,
  reportPictures,
  reportSubject,
  reportText,
} from './index.ts'

const figure = (fields: Partial<ReportFigure>): ReportFigure => ({
  label: 'Orders',
  value: 120,
  before: 100,
  format: 'number',
  currency: null,
  ...fields,
})
const message = (fields: Partial<ReportMessage> = {}): ReportMessage => ({
  subscription: 'Monday <mail>',
  dashboard: 'Shop',
  project: 'Bikes & more',
  frequency: 'week',
  timeZone: 'Europe/Berlin',
  from: '2026-11-22T23:00:00.000Z',
  to: '2026-11-29T23:00:00.000Z',
  tiles: [
    {
      name: 'Orders of <b>',
      figures: [figure({})],
      problem: null,
      picture: { png: Buffer.from('picture').toString('base64'), alt: '7 days from 0 to "30"' },
    },
    { name: 'Slow one', figures: [], problem: 'The query took longer than 10 s', picture: null },
    { name: 'Retention', figures: [], problem: null, picture: null },
  ],
  moreTiles: 2,
  isTest: false,
  address: 'https://waymark.example/console/p/p1/dashboards/d1',
  ...fields,
})
const UNSUBSCRIBE = 'https://waymark.example/u/token'

describe('an email of a subscription', () => {
  it('names the period by the time zone', () => {
    const subject = (fields: Partial<ReportMessage>) => reportSubject(message(fields))
    expect(subject({})).toBe('Monday <mail> (Bikes & more): 23 November 2026 to 29 November 2026')
    expect(subject({ frequency: 'day', to: '2026-11-23T23:00:00.000Z', isTest: true })).toBe(
      '[Test] Monday <mail> (Bikes & more): Monday 23 November 2026',
    )
    expect(
      subject({ frequency: 'month', from: '2026-10-31T23:00:00.000Z', to: '2026-11-30T23:00:00.000Z' }),
    ).toBe('Monday <mail> (Bikes & more): November 2026')
  })

  it('has the figures, what could not be measured, and the ways out in its text', () => {
    expect(reportText(message(), UNSUBSCRIBE)).toBe(`Shop of Bikes & more
23 November 2026 to 29 November 2026, compared with the week before (Europe/Berlin)

Orders of <b>
  Orders: 120 (+20.0 %, 100 before)
  7 days from 0 to "30"

Slow one
  It could not be measured: The query took longer than 10 s

Retention
  It has no single figure: open the dashboard to see it.

The dashboard has 2 more insights.

Open the dashboard: https://waymark.example/console/p/p1/dashboards/d1

Unsubscribe: https://waymark.example/u/token
`)
  })

  it.each([
    [{ value: 0, before: 0 }, '0 (0 before)'],
    [{ value: 5, before: 0 }, '5 (0 before)'],
    [{ value: null, before: null }, 'no data'],
    [{ value: null, before: 3 }, 'no data (3 before)'],
    [{ value: 3, before: null }, '3 (no data before)'],
    [{ value: -5, before: -10 }, '-5 (+50.0 %, -10 before)'],
    [{ value: 0.25, before: 0.2, format: 'share' }, '25.0 % (+5.0 points, 20.0 % before)'],
    [
      { value: 123450, before: 246900, format: 'money', currency: 'EUR' },
      '1,234.50 EUR (-50.0 %, 2,469.00 EUR before)',
    ],
    [{ value: 500, before: 0, format: 'money', currency: 'JPY' }, '500 JPY (0 JPY before)'],
  ] as const)('says how a figure changed: %j', (fields, expected) => {
    const tiles = [{ name: 'Tile', figures: [figure(fields)], problem: null, picture: null }]
    expect(reportText(message({ tiles }), UNSUBSCRIBE)).toContain(`  Orders: ${expected}\n`)
  })

  it('has HTML with escaped names, pictures with a text, and no colour of text or ground', () => {
    const html = reportHtml(message(), UNSUBSCRIBE)
    const [picture, ...others] = reportPictures(message())
    expect(others).toEqual([])
    expect(picture?.png.toString()).toBe('picture')
    expect(html).toContain(`<img src="cid:${picture?.cid}" width="560"`)
    expect(html).toContain('alt="7 days from 0 to &quot;30&quot;"')
    expect(html).toContain('Orders of &lt;b&gt;')
    expect(html).toContain('<a href="https://waymark.example/u/token">Unsubscribe</a>')
    expect(html).toContain('<meta name="color-scheme" content="light dark">')
    expect(html).not.toMatch(/[\s";](?:color|background(?:-color)?):/)
  })
})
