import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { toasts } from '../ui/toasts.tsx'
import { messageOf, needsApproval } from './client.ts'
import { openProposal, type Proposable } from './propose.ts'

type Options<Input, Result> = {
  /** The message after success. */
  done?: string | ((result: Result) => string)
  onDone?: (result: Result) => void
  /** The proposal of the change, which the user may make if the project requires approvals. */
  propose?: (input: Input) => Proposable | undefined
  /** Whether the caller shows the error in place. */
  quiet?: boolean
  /** Opens another page after what this one showed was deleted. Neither that page nor the back button shows it again. */
  leave?: () => Promise<void>
}

/** A change through the API, after which all data of the page is read again. */
export const useChange = <Input = void, Result = unknown>(
  change: (input: Input) => Promise<Result>,
  { done, onDone, quiet = false, leave, propose }: Options<Input, Result> = {},
): UseMutationResult<Result, Error, Input> => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: async (result) => {
      const forgetOtherPages = () => client.removeQueries({ type: 'inactive' })
      if (leave) {
        forgetOtherPages()
        await leave()
        forgetOtherPages()
      }
      if (done) toasts.add({ title: typeof done === 'string' ? done : done(result) })
      onDone?.(result)
      await client.invalidateQueries()
    },
    onError: (error, input) => {
      const proposal = needsApproval(error) ? propose?.(input) : undefined
      if (proposal) return openProposal(proposal)
      if (!quiet) toasts.add({ title: 'That did not work', description: messageOf(error), type: 'error' })
    },
  })
}
