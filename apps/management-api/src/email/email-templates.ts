import { AppError } from '@waymark/contracts/app-error'
import {
  type MessageContext,
  type MessageTemplates,
  type RenderedMessage,
  TemplateError,
} from '@waymark/domain/email'
import type { MessageRenderer } from '@waymark/service-kit'

/** Checks templates before they are saved. @throws AppError unprocessable with the field and the line at fault */
export const requireUsableTemplates = async (
  messages: MessageRenderer,
  projectId: string,
  templates: MessageTemplates,
): Promise<void> => {
  await messages.check(projectId, templates).catch(refuse)
}

/** Renders a message. @throws AppError unprocessable when the templates do not fit the context */
export const renderPreview = async (
  messages: MessageRenderer,
  projectId: string,
  templates: MessageTemplates,
  context: MessageContext,
): Promise<RenderedMessage> => {
  return messages.render(projectId, templates, context).catch(refuse)
}

const refuse = (error: unknown): never => {
  if (!(error instanceof TemplateError)) throw error
  throw new AppError('unprocessable', 'The template cannot be used', {
    errors: [{ field: error.field, rule: 'template', message: error.message }],
  })
}
