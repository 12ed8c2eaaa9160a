import { htmlDepth } from './html-depth.ts'
import { createTemplateEngine } from './template-engine.ts'

/** The templates of a trigger: the subject in plain text, and the HTML. */
export type MessageTemplates = { subject: string; html: string }

/** The variables of templates, in plain JSON. */
export type MessageContext = {
  traits: Record<string, unknown>
  event: Record<string, unknown>
  profile: Record<string, unknown>
  project: Record<string, unknown>
  unsubscribeUrl: string
}

/** A rendered message. The subject is a single line. */
export type RenderedMessage = { subject: string; html: string; text: string }

/** Maximum characters of the HTML and of the subject. */
export const MAX_HTML_LENGTH = 1024 * 1024
export const MAX_SUBJECT_LENGTH = 500
/** Maximum nesting of elements. */
export const MAX_HTML_DEPTH = 10_000

/** A template cannot be compiled or rendered. The message contains the line number if known. */
export class TemplateError extends Error {
  readonly field: keyof MessageTemplates

  constructor(field: keyof MessageTemplates, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TemplateError'
    this.field = field
  }
}

/**
 * Compiles the templates of a trigger. Rendering takes bounded time and memory, escapes values in HTML, and reads only own
 * properties of the context. HTML without a link to `unsubscribeUrl` gets one at its end.
 * @throws TemplateError when a template cannot be compiled; the returned function throws it when it cannot be rendered
 */
export const compileMessage = async ({
  subject,
  html,
}: MessageTemplates): Promise<(context: MessageContext) => RenderedMessage> => {
  const engine = await createTemplateEngine()
  const renderSubject = inField('subject', () => engine.compile(subject, { html: false }))
  const renderHtml = inField('html', () => engine.compile(html, { html: true }))
  return (context) => {
    const filled = inField('html', () => renderHtml(context))
    const body = withLink(filled, engine.escape(context.unsubscribeUrl))
    if (body.length > MAX_HTML_LENGTH)
      throw new TemplateError('html', `becomes larger than ${MAX_HTML_LENGTH} characters`)
    if (htmlDepth(body) > MAX_HTML_DEPTH)
      throw new TemplateError('html', `has elements nested deeper than ${MAX_HTML_DEPTH} levels`)
    return {
      subject: oneLine(inField('subject', () => renderSubject(context))),
      html: body,
      text: engine.toText(body),
    }
  }
}

const inField = <T>(field: keyof MessageTemplates, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw new TemplateError(field, describe(error), { cause: error })
  }
}

/** The line of the template and the first line of the engine's message. */
const describe = (error: unknown): string => {
  const { message, lineNumber } = error as { message: string; lineNumber?: number }
  // The message of a stack overflow is not helpful.
  if (error instanceof RangeError) return 'is nested too deeply'
  const line = lineNumber ?? /(?:line | - )(\d+)/.exec(message)?.[1]
  const what = message.replace(/^Parse error on line \d+:\n/, 'does not parse at ').replace(/ - \d+:\d+$/, '')
  return `${line === undefined ? '' : `line ${line}: `}${what.split('\n')[0]}`.slice(0, 300)
}

const withLink = (html: string, url: string): string => {
  if (html.includes(url)) return html
  const link = `<p><a href="${url}">Unsubscribe</a></p>`
  const end = html.toLowerCase().lastIndexOf('</body>')
  return end === -1 ? `${html}\n${link}` : `${html.slice(0, end)}${link}${html.slice(end)}`
}

// Removes line breaks of values, which would end the header.
const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, MAX_SUBJECT_LENGTH)
    .toWellFormed()
