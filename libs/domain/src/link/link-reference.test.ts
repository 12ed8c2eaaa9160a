import type { AcceptedEvent } from '@waymark/contracts/records/ingest-record'
import { describe, expect, it } from 'vitest'
import { linkClaimOf } from './link-reference.ts'

const CLICK = '0193513c-5e2a-7abc-9def-0123456789ab'
const TAG = { by: 'tag', value: '0123456789ab' }
const LINK = '0193513c-0000-7000-8000-000000000001'

const claimOf = (fields: Partial<AcceptedEvent>) =>
  linkClaimOf({
    eventId: 'e',
    eventName: 'page_view',
    properties: {},
    ...fields,
  })

describe('linkClaimOf', () => {
  it.each([
    ['the page', { properties: { url: `https://a.example/?x=1&wm_click=${CLICK}#top` } }],
    ['the page, as the only parameter', { properties: { url: `/p?wm_click=${CLICK.toUpperCase()}` } }],
    ['a property', { properties: { wm_click: CLICK } }],
    ['clickIds', { clickIds: { wm_click: CLICK } }],
  ])('finds the click in %s', (_where, fields) => {
    expect(claimOf(fields)).toEqual({ clickId: CLICK, references: [TAG] })
  })

  it('prefers the click to the id, and the id to the code', () => {
    expect(
      claimOf({ clickIds: { wm_click: CLICK }, shortLinkId: LINK.toUpperCase(), shortLinkCode: 'abc' }),
    ).toEqual({ clickId: CLICK, references: [TAG, { by: 'id', value: LINK }, { by: 'code', value: 'abc' }] })
  })

  it.each([
    ['nothing', {}],
    ['ids that cannot be', { shortLinkId: 'x', shortLinkCode: 'a/b', properties: { wm_click: 5 } }],
    ['another parameter', { properties: { url: `https://a.example/?xwm_click=${CLICK}` } }],
    ['a longer value', { properties: { url: `https://a.example/?wm_click=${CLICK}0` } }],
    ['a page that is no text', { properties: { url: { wm_click: CLICK } } }],
  ])('finds no link in %s', (_what, fields) => {
    expect(claimOf(fields)).toBeNull()
  })
})
