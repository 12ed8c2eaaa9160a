import { createHash } from 'node:crypto'
import { MAX_LINK_PASSWORD_LENGTH } from '@waymark/contracts/http/links'
import { type HttpRequest, prefersHtml, type Reply } from '@waymark/service-kit'

/** Why a visitor has to give the password of a link. */
export type PasswordProblem =
  | { status: 403; reason: 'password_required' | 'wrong_password' }
  | { status: 429 | 503; retryAfter: number }

const MESSAGES = {
  password_required: 'This link needs a password',
  wrong_password: 'The password is wrong',
  429: 'Too many tries. Wait a minute and try again',
  503: 'Too many visitors at the moment. Try again in a few seconds',
} as const

/** Browsers count UTF-16 code units, of which a character has at most two. */
const MAX_LENGTH = 2 * MAX_LINK_PASSWORD_LENGTH

const STYLE = `
  :root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif }
  body { display: grid; place-content: center; min-height: 90vh; margin: 0 1rem }
  h1 { font-size: 1.4rem }
  form { display: grid; gap: .5rem }
  input, button { font: inherit; padding: .5rem; border-radius: .4rem; border: 1px solid GrayText }
  [role=alert] { margin: 0; font-weight: 600 }
`
/**
 * Allows the style only. Without `form-action`, because Chromium applies it to the redirect that follows the form, whose
 * destination must not be visible here.
 */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Asks for the password of a link: a form for browsers, JSON for other clients. It does not depend on the link. */
export const passwordReply = (request: HttpRequest, problem: PasswordProblem): Reply => {
  const { status } = problem
  const waits = 'retryAfter' in problem && { 'Retry-After': `${problem.retryAfter}` }
  const headers = { 'Cache-Control': 'no-store', Vary: 'Accept', 'X-Robots-Tag': 'noindex', ...waits }
  if (!prefersHtml(request)) {
    const { status: _status, ...details } = problem
    return { status, headers, shown: true, body: { error: messageOf(problem), ...details } }
  }
  return {
    status,
    headers: { ...headers, 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' },
    shown: true,
    type: 'text/html; charset=utf-8',
    body: page(problem),
  }
}

const messageOf = (problem: PasswordProblem): string =>
  MESSAGES['reason' in problem ? problem.reason : problem.status]

const page = (problem: PasswordProblem): string => {
  const isFirst = 'reason' in problem && problem.reason === 'password_required'
  const invalid = isFirst ? '' : ' aria-invalid="true" aria-describedby="problem"'
  const alert = isFirst ? '' : `\n<p id="problem" role="alert">${messageOf(problem)}.</p>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${MESSAGES.password_required}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${MESSAGES.password_required}</h1>
<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" required maxlength="${MAX_LENGTH}" autocomplete="off" autofocus${invalid}>${alert}
<button>Continue</button>
</form>
</main>
</body>
</html>
`
}
