import { useEffect, useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { type Proposable, setOpenProposal } from '../api/propose.ts'
import { useProjectId } from '../api/session.ts'
import { useNavigateFromHere } from '../api/url-state.ts'
import { Modal } from '../ui/dialog.tsx'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT, TextArea } from '../ui/form.tsx'

/** Proposes a change of a decision that was refused because it needs approvals. */
export const ProposeDialog = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const [wanted, setWanted] = useState<Proposable>()
  useEffect(() => setOpenProposal(setWanted), [])
  const propose = useChange(
    ({ comment, at }: Record<string, string>) => {
      const { decision: key = '', at: _at, ...request } = wanted ?? { decision: '' }
      return unwrap(
        api.POST('/api/projects/{projectId}/decisions/{key}/proposals', {
          params: { path: { projectId, key } },
          body: { ...request, ...(comment && { comment }), ...(at && { at: fromLocalInput(at) }) },
        }),
      )
    },
    {
      done: 'Proposed: those who may approve it get an email',
      quiet: true,
      onDone: ({ id, decision }) => {
        setWanted(undefined)
        void navigate({
          to: '/p/$projectId/decisions/$key/proposals/$id',
          params: { projectId, key: decision, id },
          ignoreBlocker: true,
        })
      },
    },
  )
  return (
    <Modal
      open={wanted !== undefined}
      onClose={() => setWanted(undefined)}
      title="Propose this change?"
      description="The project requires that others approve it. Nothing has changed yet."
    >
      <Form
        submit="Propose"
        busy={propose.isPending}
        error={propose.error}
        names={['comment', 'at']}
        onCancel={() => setWanted(undefined)}
        onSubmit={(values) => propose.mutate(values)}
      >
        <TextArea label="Why" name="comment" rows={3} maxLength={1_000} hint="For those who approve it." />
        <Input
          label="Apply at"
          name="at"
          type="datetime-local"
          defaultValue={wanted?.at}
          hint={`Empty: with its last approval. ${LOCAL_TIME_HINT}`}
        />
      </Form>
    </Modal>
  )
}
