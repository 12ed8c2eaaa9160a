import { htmlDepth } from './html-depth.ts'
import { createTemplateEngine } from './template-engine.ts'

/** What a trigger says: the templates of the subject, which is plain text, and of the HTML. */
export type MessageTemplates = { subject: string; html: string }

/** What templates may name; all of it is plain JSON. */
export type MessageContext = {
  traits: Record<string, unknown>
  event: Record<string, unknown>
  profile: Record<string, unknown>
  project: Record<string, unknown>
  unsubscribeUrl: string
}

/** A message as it is sent. The subject is one line. */
export type RenderedMessage = { subject: string; html: string; text: string }

/** Characters of a message's HTML, and of its subject. */
export const MAX_HTML_LENGTH = 1024 * 1024
export const MAX_SUBJECT_LENGTH = 500
/** Elements within each other. */
export const MAX_HTML_DEPTH = 10_000

/** What is wrong with a template, or with what it makes of a context. The message names the line where there is one. */
export class TemplateError extends Error {
  readonly field: keyof MessageTemplates

  constructor(field: keyof MessageTemplates, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TemplateError'
    this.field = field
  }
}

/**
 * Compiles the templates of a trigger, once per version of it. Rendering takes bounded time and memory whatever the
 * templates and the context are; values are escaped in HTML, and only own properties of the context can be reached.
 * An HTML without a link to `unsubscribeUrl` gets one at its end.
 * @throws TemplateError when a template cannot be compiled; the function that is returned, when it cannot be filled in
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

/** The first line of what the engine says, after the line of the template that it is about. */
const describe = (error: unknown): string => {
  const { message, lineNumber } = error as { message: string; lineNumber?: number }
  // An engine that ran out of stack says nothing that would help.
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

// Whatever a value brings along, a header stays one line.
const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, MAX_SUBJECT_LENGTH)
    .toWellFormed()
