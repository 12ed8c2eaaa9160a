import { AppError } from '@waymark/contracts'
import { compileMessage, type MessageTemplates, TemplateError } from './message-template.ts'

/**
 * Checks that templates may be saved, and answers what `compileMessage` does.
 * @throws AppError unprocessable with the field and the line at fault
 */
export const requireUsableTemplates = async (
  templates: MessageTemplates,
): Promise<Awaited<ReturnType<typeof compileMessage>>> => {
  const refuse = (error: unknown): never => {
    if (!(error instanceof TemplateError)) throw error
    throw new AppError('unprocessable', 'The template cannot be used', {
      errors: [{ field: error.field, rule: 'template', message: error.message }],
    })
  }
  const render = await compileMessage(templates).catch(refuse)
  return (context) => {
    try {
      return render(context)
    } catch (error) {
      return refuse(error)
    }
  }
}
