/**
 * The programs with which messengers and social networks fetch the preview of a link, by their user agents. Many others
 * send one of these too: iMessage, Instagram, KakaoTalk and LINE that of Facebook, Signal that of WhatsApp, Teams that of
 * Skype. Search engines are not among them.
 */
const PREVIEW_BOTS = new RegExp(
  [
    'facebookexternalhit',
    'Facebot',
    'Twitterbot',
    'LinkedInBot',
    'Slackbot',
    'Discordbot',
    'TelegramBot',
    // Only at the beginning, because browsers of apps name themselves later.
    '^WhatsApp/',
    '^Pinterest/',
    'SkypeUriPreview',
    'Pinterestbot',
    'redditbot',
    'vkShare',
    'Bluesky Cardyb',
    'Mastodon/',
    'Synapse \\(bot',
    'Snap URL Preview',
    'Iframely',
    'Embedly',
  ].join('|'),
  'i',
)
const MAX_LENGTH = 500

/** Whether a `User-Agent` header is that of a program that fetches the preview of a link. */
export const isPreviewBot = (userAgent: string | null): boolean =>
  userAgent !== null && PREVIEW_BOTS.test(userAgent.slice(0, MAX_LENGTH))
