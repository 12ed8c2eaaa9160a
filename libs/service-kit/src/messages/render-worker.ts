import {
  compileMessage,
  type MessageContext,
  type MessageTemplates,
  type RenderedMessage,
  TemplateError,
} from '@waymark/domain/email'
import { LRUCache } from 'lru-cache'
import type { StartedTask } from '../workers/project-workers.ts'

/** Renders a message, or only compiles its templates when there is no context. */
export type RenderTask = { templates: MessageTemplates; context: MessageContext | null }
/** Errors cross threads as data. */
export type RenderResult =
  | { kind: 'rendered'; message: RenderedMessage }
  | { kind: 'compiled' }
  | { kind: 'failed'; field: keyof MessageTemplates; message: string }

const MAX_COMPILED = 100
const compiled = new LRUCache<string, ReturnType<typeof compileMessage>, MessageTemplates>({
  max: MAX_COMPILED,
  memoMethod: (_key, _known, { context }) => compileMessage(context),
})

const compileOnce = (templates: MessageTemplates): ReturnType<typeof compileMessage> =>
  compiled.memo(JSON.stringify([templates.subject, templates.html]), { context: templates })

// Loads the template engine before the first task, whose deadline does not include that time.
await compileOnce({ subject: '', html: '' })

/** Entry point of the worker thread. */
export default async ({
  task: { templates, context },
  started,
}: StartedTask<RenderTask>): Promise<RenderResult> => {
  started.postMessage('started')
  try {
    const render = await compileOnce(templates)
    return context ? { kind: 'rendered', message: render(context) } : { kind: 'compiled' }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return { kind: 'failed', field: error.field, message: error.message }
  }
}
