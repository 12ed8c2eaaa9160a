/** Where visits come from, in the order in which they are shown. */
export const channels = [
  'direct',
  'organic_search',
  'paid_search',
  'social',
  'email',
  'referral',
  'campaign',
] as const
export type Channel = (typeof channels)[number]

/** What a channel is found by, in lower case and without `www.` before the host; null where there is none. */
export type Entry = {
  /** The name of the parameter with which an advertisement marks its clicks, such as `gclid`. */
  click: string | null
  source: string | null
  medium: string | null
  campaign: string | null
  host: string | null
}

/** A rule: the channel of entries whose field matches the pattern, which RE2 understands as well. */
export type ChannelRule = { channel: Channel; field: keyof Entry; pattern: string }

const oneOf = (...names: string[]): string => names.map((name) => name.replaceAll('.', '\\.')).join('|')
/** The hosts and those below them. */
const hosts = (...names: string[]): string => `(^|\\.)(${oneOf(...names)})$`
/** The hosts of all countries, such as `google.de` and `google.co.uk`. */
const inAllCountries = (...names: string[]): string => `(^|\\.)(${oneOf(...names)})(\\.com?)?\\.[a-z]{2,3}$`

const SEARCH_HOSTS = `${inAllCountries('google', 'bing', 'yahoo', 'yandex', 'baidu', 'naver', 'seznam', 'ask')}|${hosts(
  'duckduckgo.com',
  'ecosia.org',
  'qwant.com',
  'startpage.com',
  'search.brave.com',
  'swisscows.com',
  'sogou.com',
  'so.com',
  'daum.net',
  'mojeek.com',
  'kagi.com',
  'perplexity.ai',
  'search.marginalia.nu',
)}`
const MAIL_HOSTS = hosts(
  'mail.google.com',
  'outlook.live.com',
  'outlook.office.com',
  'outlook.office365.com',
  'mail.yahoo.com',
  'mail.proton.me',
  'mail.aol.com',
  'mail.yandex.ru',
  'mail.ru',
  'gmx.net',
  'web.de',
  'app.fastmail.com',
  'com.google.android.gm',
)
const SOCIAL_HOSTS = hosts(
  ...[
    'facebook.com',
    'fb.com',
    'instagram.com',
    'threads.net',
    'threads.com',
    'twitter.com',
    'x.com',
    't.co',
  ],
  ...[
    'linkedin.com',
    'lnkd.in',
    'reddit.com',
    'redd.it',
    'pinterest.com',
    'pin.it',
    'tiktok.com',
    'youtube.com',
  ],
  ...[
    'youtu.be',
    'vk.com',
    'ok.ru',
    'weibo.com',
    'weibo.cn',
    'bsky.app',
    'mastodon.social',
    'tumblr.com',
    'xing.com',
  ],
  ...[
    'quora.com',
    'discord.com',
    'telegram.org',
    't.me',
    'whatsapp.com',
    'snapchat.com',
    'news.ycombinator.com',
  ],
)
const SOCIAL_SOURCES = `^(${oneOf(
  ...[
    'facebook',
    'fb',
    'instagram',
    'ig',
    'threads',
    'twitter',
    'x',
    'linkedin',
    'reddit',
    'pinterest',
    'tiktok',
  ],
  ...[
    'youtube',
    'vk',
    'weibo',
    'bluesky',
    'mastodon',
    'tumblr',
    'xing',
    'quora',
    'discord',
    'telegram',
    'whatsapp',
  ],
  'snapchat',
  'facebook.com',
  'instagram.com',
  'twitter.com',
  'x.com',
  'linkedin.com',
  'reddit.com',
)})$`

/** The first rule that matches gives the channel. What no rule matches is `direct`. */
export const channelRules: readonly ChannelRule[] = [
  { channel: 'email', field: 'medium', pattern: '^(e[-_ ]?mail|newsletter)$' },
  { channel: 'email', field: 'source', pattern: '^(e[-_ ]?mail|newsletter)$' },
  { channel: 'social', field: 'medium', pattern: '^(paid[-_ ]?)?social([-_ ]?(network|media))?$|^sm$' },
  { channel: 'social', field: 'source', pattern: SOCIAL_SOURCES },
  { channel: 'paid_search', field: 'medium', pattern: '^(cpc|ppc|sem|paid|paid[-_ ]?search)$' },
  { channel: 'organic_search', field: 'medium', pattern: '^organic$' },
  { channel: 'referral', field: 'medium', pattern: '^referral$' },
  {
    channel: 'paid_search',
    field: 'click',
    pattern: `^(${oneOf('gclid', 'gbraid', 'wbraid', 'dclid', 'msclkid')})$`,
  },
  { channel: 'social', field: 'click', pattern: `^(${oneOf('fbclid', 'ttclid', 'twclid', 'li_fat_id')})$` },
  { channel: 'campaign', field: 'source', pattern: '.' },
  { channel: 'campaign', field: 'medium', pattern: '.' },
  { channel: 'campaign', field: 'campaign', pattern: '.' },
  { channel: 'email', field: 'host', pattern: MAIL_HOSTS },
  { channel: 'organic_search', field: 'host', pattern: SEARCH_HOSTS },
  { channel: 'social', field: 'host', pattern: SOCIAL_HOSTS },
  { channel: 'referral', field: 'host', pattern: '.' },
]

const compiled = channelRules.map((rule) => ({ ...rule, regExp: new RegExp(rule.pattern) }))

/** The channel of a visit by how it began. */
export const channelOf = (entry: Entry): Channel =>
  compiled.find(({ field, regExp }) => regExp.test(entry[field] ?? ''))?.channel ?? 'direct'
