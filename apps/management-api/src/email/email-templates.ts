import { AppError } from '@waymark/contracts'
import {
  type MessageContext,
  type MessageTemplates,
  type RenderedMessage,
  TemplateError,
} from '@waymark/domain'
import type { MessageRenderer } from '@waymark/service-kit'

/** In s. */
const RETRY_AFTER_S = 1

/** Checks templates before they are saved. @throws AppError unprocessable with the field and the line at fault */
export const requireUsableTemplates = async (
  messages: MessageRenderer,
  projectId: string,
  templates: MessageTemplates,
): Promise<void> => {
  requireFree(messages, projectId)
  await messages.check(projectId, templates).catch(refuse)
}

/** Renders a message. @throws AppError unprocessable when the templates do not fit the context */
export const renderPreview = async (
  messages: MessageRenderer,
  projectId: string,
  templates: MessageTemplates,
  context: MessageContext,
): Promise<RenderedMessage> => {
  requireFree(messages, projectId)
  return messages.render(projectId, templates, context).catch(refuse)
}

const requireFree = (messages: MessageRenderer, projectId: string): void => {
  if (!messages.isBusy(projectId)) return
  const message = 'Too many messages of the project wait to be rendered. Try again in a second.'
  throw new AppError('rate_limited', message, { retryAfterSeconds: RETRY_AFTER_S })
}

const refuse = (error: unknown): never => {
  if (!(error instanceof TemplateError)) throw error
  throw new AppError('unprocessable', 'The template cannot be used', {
    errors: [{ field: error.field, rule: 'template', message: error.message }],
  })
}
