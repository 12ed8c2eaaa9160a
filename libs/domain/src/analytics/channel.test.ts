import { expect, it } from 'vitest'
import { channelOf } from './channel.ts'

const none = { source: null, medium: null, campaign: null, host: null }

it.each([
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
])('%j comes by %s', (entry, channel) => {
  expect(channelOf({ ...none, ...entry })).toBe(channel)
})
