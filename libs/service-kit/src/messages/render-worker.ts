import {
  compileMessage,
  type MessageContext,
  type MessageTemplates,
  type RenderedMessage,
  TemplateError,
} from '@waymark/domain'
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
const compiled = new LRUCache<string, ReturnType<typeof compileMessage>>({ max: MAX_COMPILED })

const compileOnce = ({ subject, html }: MessageTemplates): ReturnType<typeof compileMessage> => {
  const key = JSON.stringify([subject, html])
  const known = compiled.get(key)
  if (known) return known
  const fresh = compileMessage({ subject, html })
  compiled.set(key, fresh)
  return fresh
}

// Loads the template engine before the first task, whose deadline covers its own work only.
await compileOnce({ subject: '', html: '' })

/** Entry point of a worker thread. */
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
