import path from 'node:path'
import {
  type MessageContext,
  type MessageTemplates,
  type RenderedMessage,
  TemplateError,
} from '@waymark/domain/email'
import { currentWork } from '@waymark/domain/fairness'
import { createProjectWorkers, WorkerLimitError } from '../workers/project-workers.ts'
import type { RenderResult, RenderTask } from './render-worker.ts'

/** Compiles and renders the message templates of projects in worker threads. */
export type MessageRenderer = {
  /**
   * Renders a message. Waits while another message of the tenant is rendered.
   * @throws TemplateError when the templates cannot be compiled or filled in, or when that takes too long; AppError
   * rate_limited or overloaded when too many wait
   */
  render(projectId: string, templates: MessageTemplates, context: MessageContext): Promise<RenderedMessage>
  /** Compiles the templates. @throws TemplateError when they cannot be used */
  check(projectId: string, templates: MessageTemplates): Promise<void>
  close(): Promise<void>
}

type MessageRendererOptions = {
  /** Time for one message in a worker, in ms (2,000). */
  deadlineMs?: number
  /** Worker threads. */
  threads?: number
  /** As of `createProjectWorkers`. */
  onError?: (error: Error) => void
}

const DEADLINE_MS = 2_000

/** Creates a renderer. Its threads start with the first message. */
export const createMessageRenderer = ({
  deadlineMs = DEADLINE_MS,
  ...options
}: MessageRendererOptions = {}): MessageRenderer => {
  const filename = path.join(import.meta.dirname, 'render-worker.ts')
  const workers = createProjectWorkers<RenderTask, RenderResult>({
    filename,
    deadlineMs,
    what: 'renderings of messages',
    ...options,
  })

  const run = async (projectId: string, task: RenderTask): Promise<RenderResult> => {
    // Only requests are refused: a consumer bounds its own work.
    const patient = currentWork() === undefined
    const result = await workers.run(projectId, task, { patient }).catch((error: unknown) => {
      if (!(error instanceof WorkerLimitError)) throw error
      const takesTooLong = `takes longer than ${deadlineMs} ms to render`
      throw new TemplateError(
        'html',
        error.limit === 'time' ? takesTooLong : 'needs too much memory to render',
      )
    })
    if (result.kind === 'failed') throw new TemplateError(result.field, result.message)
    return result
  }

  return {
    render: async (projectId, { subject, html }, context) => {
      const result = await run(projectId, { templates: { subject, html }, context })
      if (result.kind !== 'rendered') throw new Error('The worker did not render the message')
      return result.message
    },
    check: async (projectId, { subject, html }) => {
      await run(projectId, { templates: { subject, html }, context: null })
    },
    close: workers.close,
  }
}
