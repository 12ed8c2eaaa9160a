import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useAccount, useMay, useProjectId } from '../api/session.ts'
import type { Proposal } from '../api/types.ts'
import { ActorName } from '../ui/actor.tsx'
import { Badge, Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, TextArea } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { Notice } from '../ui/states.tsx'
import { placeOf } from './changes.ts'

/** A proposed change of a decision, side by side with what is live, and what members say of it. */
export const ProposalPage = () => {
  const projectId = useProjectId()
  const { key, id } = useParams({ strict: false }) as { key: string; id: string }
  const read = useQuery({
    queryKey: [projectId, 'proposal', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/decisions/{key}/proposals/{id}', {
          params: { path: { projectId, key, id } },
        }),
      ),
  })
  const back = { to: '/p/$projectId/decisions/$key', params: { projectId, key }, label: key } as const
  if (!read.data) return <PageWithoutData title="Proposal" back={back} query={read} />
  const proposal = read.data
  const { status, outdated, comment, warnings = [] } = proposal
  return (
    <>
      <PageHeader
        back={back}
        title={`Proposed change of ${key}`}
        description={comment ?? undefined}
        aside={
          <>
            <Status status={status} />
            {outdated && <Badge tone="warning">outdated</Badge>}
          </>
        }
        actions={status === 'open' && <Actions proposal={proposal} />}
      />
      <div className="flex flex-col gap-4">
        {outdated && (
          <Notice tone="warning">
            The decision has changed since version {proposal.baseVersion}, which withdrew the approvals. Make
            the proposal anew to have it approved.
          </Notice>
        )}
        {proposal.error && <Notice tone="danger">{proposal.error}</Notice>}
        {warnings.map(({ code, message }) => (
          <Notice key={code} tone="warning">
            {message}
          </Notice>
        ))}
        <Card title="Approvals" padded>
          <Standing proposal={proposal} />
        </Card>
        <Changes proposal={proposal} />
        <Json label="The exact definition that is applied" value={proposal.definition} />
      </div>
    </>
  )
}

const Standing = ({ proposal }: { proposal: Proposal }) => {
  const { approvals, reviews, at, proposedBy, createdAt, version } = proposal
  return (
    <>
      <Facts
        rows={[
          [
            'Proposed',
            <span key="by">
              <ActorName actor={proposedBy} /> · <Time at={createdAt} />
            </span>,
          ],
          [
            'Applied',
            version === null ? (
              at ? (
                <Time key="at" at={at} />
              ) : (
                'with its last approval'
              )
            ) : (
              `as version ${version}`
            ),
          ],
          ...approvals.map(
            ({ environments, given, required, roles }) =>
              [
                environments.join(', ') || 'Needed',
                `${given} of ${required} approvals by ${roles.join(', ')}`,
              ] as const,
          ),
        ]}
      />
      {reviews.length > 0 && (
        <ul aria-label="Reviews" className="mt-4 flex flex-col gap-2">
          {reviews.map((review) => (
            <li key={`${review.by.id}${review.revision}`} className="rounded-lg border border-line p-3">
              <span className="flex flex-wrap items-center gap-2">
                <Badge tone={review.verdict === 'approved' ? 'good' : 'danger'}>{review.verdict}</Badge>
                <ActorName actor={review.by} /> · <Time at={review.at} />
                {review.verdict === 'approved' && !review.counts && <Badge>does not count any more</Badge>}
              </span>
              {review.comment && <p className="mt-1 wrap-anywhere">{review.comment}</p>}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const pretty = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2))

/** What it changes, on the left as it is and on the right as proposed. */
const Changes = ({ proposal: { changes, comparedWith } }: { proposal: Proposal }) => (
  <Card
    title="Changes"
    description={
      comparedWith === null
        ? 'The decision was never active, so that all of it is new.'
        : `Compared with version ${comparedWith}, the last one that was active.`
    }
    padded
  >
    {changes.length === 0 && <p className="text-muted">It changes nothing of the definition.</p>}
    <ul className="flex flex-col gap-3">
      {changes.map(({ op, path, value, was }) => (
        <li key={`${op}${path}`}>
          <h3 className="mb-1 font-medium break-all">{placeOf(path)}</h3>
          <div className="grid gap-2 md:grid-cols-2">
            <Side label="Before" tone="bg-danger-soft text-danger" text={op === 'add' ? '' : pretty(was)} />
            <Side
              label="Proposed"
              tone="bg-accent-soft text-accent-text"
              text={op === 'remove' ? '' : pretty(value)}
            />
          </div>
        </li>
      ))}
    </ul>
  </Card>
)

const Side = ({ label, tone, text }: { label: string; tone: string; text: string }) => (
  <section
    aria-label={label}
    className={`min-w-0 rounded-lg px-3 py-2 ${text ? tone : 'bg-subtle text-muted'}`}
  >
    <span className="block text-[0.86rem] font-medium">{label}</span>
    <pre className="font-mono break-all whitespace-pre-wrap">{text || '(none)'}</pre>
  </section>
)

type Verdict = 'approve' | 'reject' | 'bypass'

const DIALOGS: Record<Verdict, { title: string; description: string; label: string; submit: string }> = {
  approve: {
    title: 'Approve this change?',
    description: 'The last approval applies it, or has it wait for its time.',
    label: 'Comment',
    submit: 'Approve',
  },
  reject: {
    title: 'Reject this change?',
    description: 'It ends the proposal.',
    label: 'Why',
    submit: 'Reject',
  },
  bypass: {
    title: 'Apply it without its approvals?',
    description: 'For emergencies. The reason is in the audit log and in an email to all owners.',
    label: 'Reason',
    submit: 'Apply without approvals',
  },
}

const Actions = ({ proposal }: { proposal: Proposal }) => {
  const { id, decision: key, revision, outdated, proposedBy } = proposal
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const mayBypass = useMay('admin')
  const isAuthor = useAccount()?.user.id === proposedBy.id
  const [verdict, setVerdict] = useState<Verdict>()
  const params = { path: { projectId, key, id } }
  const review = useChange(
    ({ text = '' }: Record<string, string>) => {
      const path = '/api/projects/{projectId}/decisions/{key}/proposals/{id}' as const
      if (verdict === 'reject')
        return unwrap(api.POST(`${path}/reject`, { params, body: { revision, comment: text } }))
      if (verdict === 'bypass')
        return unwrap(api.POST(`${path}/bypass`, { params, body: { revision, reason: text } }))
      return unwrap(
        api.POST(`${path}/approve`, { params, body: { revision, ...(text && { comment: text }) } }),
      )
    },
    {
      quiet: true,
      done: ({ status }: { status: string }) =>
        status === 'open' ? 'Approved' : `The proposal is ${status}`,
      onDone: () => setVerdict(undefined),
    },
  )
  const renew = useChange(
    () => unwrap(api.PATCH('/api/projects/{projectId}/decisions/{key}/proposals/{id}', { params, body: {} })),
    { done: 'Made anew from the newest version' },
  )
  const withdraw = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/decisions/{key}/proposals/{id}', { params })),
    { quiet: true, done: 'Proposal withdrawn' },
  )
  if (!mayEdit) return null
  const dialog = DIALOGS[verdict ?? 'approve']
  return (
    <>
      {outdated ? (
        <Button look="primary" busy={renew.isPending} onClick={() => renew.mutate()}>
          Make anew
        </Button>
      ) : (
        <>
          {!isAuthor && (
            <>
              <Button look="primary" icon="check" onClick={() => setVerdict('approve')}>
                Approve
              </Button>
              <Button onClick={() => setVerdict('reject')}>Reject</Button>
            </>
          )}
          {mayBypass && <Button onClick={() => setVerdict('bypass')}>Bypass</Button>}
        </>
      )}
      <ConfirmButton
        label="Withdraw"
        title="Withdraw this proposal?"
        confirm="Withdraw"
        onConfirm={() => withdraw.mutateAsync()}
      >
        Nothing of it is applied. It stays in the list.
      </ConfirmButton>
      <Modal
        open={verdict !== undefined}
        onClose={() => setVerdict(undefined)}
        title={dialog.title}
        description={dialog.description}
      >
        <Form
          submit={dialog.submit}
          busy={review.isPending}
          error={review.error}
          names={['text']}
          onCancel={() => setVerdict(undefined)}
          onSubmit={(values) => review.mutate(values)}
        >
          <TextArea
            label={dialog.label}
            name="text"
            rows={3}
            required={verdict !== 'approve'}
            maxLength={1_000}
          />
        </Form>
      </Modal>
    </>
  )
}
