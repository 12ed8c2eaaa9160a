import type { AppError } from '@waymark/contracts/app-error'

/** Errors of a change that repeating it does not mend. */
export const REFUSALS: ReadonlySet<string> = new Set([
  'unprocessable',
  'forbidden',
  'conflict',
  'precondition_failed',
  'not_found',
])

/** Why a change was refused, in one line. */
export const reasonOf = ({ message, details }: AppError): string => {
  const [first] = (details?.errors ?? []) as { field: string; message: string }[]
  return first ? `${message}: ${first.field} ${first.message}` : message
}
