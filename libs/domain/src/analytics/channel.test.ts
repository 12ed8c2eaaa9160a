import { expect, it } from 'vitest'
import { clickParameters } from '../enrichment/page.ts'
import { type Channel, channelOf, type Entry } from './channel.ts'

const none = { click: null, source: null, medium: null, campaign: null, host: null }

it.each<readonly [Partial<Entry>, Channel]>([
  [{}, 'direct'],
  [{ host: 'google.com' }, 'organic_search'],
  [{ host: 'google.co.uk' }, 'organic_search'],
  [{ host: 'google.com.br' }, 'organic_search'],
  [{ host: 'images.google.de' }, 'organic_search'],
  [{ host: 'duckduckgo.com' }, 'organic_search'],
  [{ host: 'search.yahoo.com' }, 'organic_search'],
  [{ host: 'notgoogle.com' }, 'referral'],
  [{ host: 'google.example.com' }, 'referral'],
  [{ host: 'mail.google.com' }, 'email'],
  [{ host: 'outlook.live.com' }, 'email'],
  [{ host: 'm.facebook.com' }, 'social'],
  [{ host: 't.co' }, 'social'],
  [{ host: 'at.co' }, 'referral'],
  [{ host: 'netflix.com' }, 'referral'],
  [{ host: 'blog.example' }, 'referral'],
  [{ source: 'google', medium: 'cpc' }, 'paid_search'],
  [{ source: 'google', medium: 'cpc', host: 'google.com' }, 'paid_search'],
  [{ source: 'facebook', medium: 'cpc' }, 'social'],
  [{ source: 'news', medium: 'email' }, 'email'],
  [{ source: 'newsletter', host: 'mail.google.com' }, 'email'],
  [{ medium: 'e-mail' }, 'email'],
  [{ medium: 'paid-social' }, 'social'],
  [{ source: 'google', medium: 'organic' }, 'organic_search'],
  [{ source: 'partner', medium: 'referral' }, 'referral'],
  [{ source: 'partner', host: 'google.com' }, 'campaign'],
  [{ medium: 'qr' }, 'campaign'],
  [{ campaign: 'spring' }, 'campaign'],
  ...['gclid', 'gbraid', 'wbraid', 'dclid', 'msclkid'].map(
    (click) => [{ click, host: 'google.com' }, 'paid_search'] as const,
  ),
  ...['fbclid', 'ttclid', 'twclid', 'li_fat_id'].map((click) => [{ click }, 'social'] as const),
  [{ click: 'gclid', source: 'google' }, 'paid_search'],
  [{ click: 'gclid', campaign: 'spring' }, 'paid_search'],
  [{ click: 'fbclid', source: 'newsletter', medium: 'email' }, 'email'],
  [{ click: 'fbclid', medium: 'cpc' }, 'paid_search'],
  [{ click: 'wm_click', host: 'blog.example' }, 'referral'],
])('%j comes by %s', (entry, channel) => {
  expect(channelOf({ ...none, ...entry })).toBe(channel)
})

it('has a rule for each click id that is read from addresses', () => {
  const channels = clickParameters.map((click) => channelOf({ ...none, click }))
  expect(new Set(channels)).toEqual(new Set(['paid_search', 'social']))
})
