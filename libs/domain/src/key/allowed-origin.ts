const WEB_ORIGIN = /^https?:\/\//
/** The origin of an app or an extension, such as `capacitor://localhost` and `chrome-extension://abc`. */
const APP_ORIGIN =
  /^(?!(?:https?|wss?|ftp|file|data|blob|about|javascript):)[a-z][a-z\d+.-]*:\/\/[\w.-]+(?::\d{1,5})?$/
const ANY_LABEL = '://*.'
/** Stands for the label in checks. */
const SOME_LABEL = '://label.'
const LABEL = /^[a-z\d_-]+$/

/**
 * Whether the allowed origins of a key may contain a text: the origin of a page; one with `*` as its first label and at
 * least two more, as in `https://*.shop.example`; or that of an app. Browsers send none of the others.
 */
export const isOriginPattern = (text: string): boolean => {
  if (!WEB_ORIGIN.test(text)) return APP_ORIGIN.test(text)
  const origin = text.replace(ANY_LABEL, SOME_LABEL)
  const url = URL.parse(origin)
  if (url === null || url.origin !== origin || text.replace(ANY_LABEL, '').includes('*')) return false
  return origin === text || url.hostname.split('.').length > 2
}

/** Whether an origin is one of the allowed ones. `*` stands for one label: `https://*.a.example` is not `https://a.example`. */
export const isAllowedOrigin = (allowed: readonly string[], origin: string): boolean =>
  allowed.some((pattern) => {
    const start = pattern.indexOf(ANY_LABEL)
    if (start === -1) return pattern === origin
    const scheme = pattern.slice(0, start + '://'.length)
    const rest = pattern.slice(start + ANY_LABEL.length - 1)
    if (!origin.startsWith(scheme) || !origin.endsWith(rest)) return false
    const label = origin.slice(scheme.length, origin.length - rest.length)
    return LABEL.test(label)
  })
