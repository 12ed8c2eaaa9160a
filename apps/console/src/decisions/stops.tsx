import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Decision } from '../api/types.ts'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'
import { formatPercentage, Time } from '../ui/format.tsx'
import { Notice } from '../ui/states.tsx'
import { stopSentence } from './guard-sentence.ts'

const OUTCOMES = {
  pause: () => 'The decision is off.',
  rollback: () => 'The rule gives its variants to nobody.',
  hold: (percentage: number) => `The ramp stays at ${formatPercentage(percentage)}.`,
}

/** What guards have stopped in an environment, why, and a button to resume it. */
export const Stops = ({ decision, environment }: { decision: Decision; environment: string }) => {
  const stops = (decision.stops ?? []).filter((stop) => stop.environment === environment)
  if (stops.length === 0) return null
  return (
    <div className="mb-4">
      <Card
        title="Stopped by a guard"
        actions={
          decision.status !== 'archived' && (
            <For atLeast="editor">
              <Resume decisionKey={decision.key} environment={environment} />
            </For>
          )
        }
        padded
      >
        <div className="flex flex-col gap-3">
          {stops.map((stop) => (
            <Notice key={stop.ruleId} tone="warning">
              {stopSentence(stop)} {OUTCOMES[stop.action](stop.percentage)} <Time at={stop.at} />
            </Notice>
          ))}
        </div>
      </Card>
    </div>
  )
}

const Resume = ({ decisionKey, environment }: { decisionKey: string; environment: string }) => {
  const projectId = useProjectId()
  const [open, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const resume = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/decisions/{key}/resume', {
          params: { path: { projectId, key: decisionKey }, query: { environment } },
          body: { reason },
        }),
      ),
    {
      done: 'The decision goes on',
      quiet: true,
      onDone: () => setOpen(false),
      propose: () => ({ decision: decisionKey, resume: { environment, reason } }),
    },
  )
  return (
    <>
      <Button look="primary" icon="play" onClick={() => setOpen(true)}>
        Resume
      </Button>
      <Modal
        open={open}
        onClose={() => setOpen(false)}
        title="Resume what guards have stopped?"
        description="Ramps go on from where they were stopped. Guards count people anew."
      >
        <Form
          submit="Resume"
          busy={resume.isPending}
          error={resume.error}
          names={['reason']}
          onSubmit={() => resume.mutate()}
        >
          <Input
            label="Reason"
            name="reason"
            required
            maxLength={1_000}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            hint="Kept in the history."
          />
        </Form>
      </Modal>
    </>
  )
}
