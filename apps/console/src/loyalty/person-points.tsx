import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { PointAccount } from '../api/types.ts'
import { Button, For } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'
import { formatCount, formatNumber, Time } from '../ui/format.tsx'
import { ErrorState } from '../ui/states.tsx'
import { Movements } from './programme.tsx'

const MAX_POINTS = 1_000_000_000

/** The points of a person in each programme; nothing for a person who has had none. */
export const PersonPoints = ({ id }: { id: string }) => {
  const projectId = useProjectId()
  const [open, setOpen] = useState<PointAccount | null>(null)
  const close = () => setOpen(null)
  const accounts = useQuery({
    queryKey: [projectId, 'person-points', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/profiles/{id}/points', { params: { path: { projectId, id } } }),
      ),
  })
  if (accounts.error)
    return (
      <Card title="Points" padded>
        <ErrorState error={accounts.error} retry={() => void accounts.refetch()} />
      </Card>
    )
  const { data } = accounts.data ?? { data: [] }
  return (
    <>
      {data.map((account) => {
        const { programmeKey, programmeName, balance, earned, tier, nextExpiry } = account
        return (
          <Card key={programmeKey} title={`Points: ${programmeName}`} padded>
            <Facts
              rows={[
                ['Balance', <b key="b">{formatNumber(balance)}</b>],
                ['Tier', tier?.name],
                ['Earned', formatNumber(earned)],
                [
                  'Next to expire',
                  nextExpiry && (
                    <span key="e">
                      {formatCount(nextExpiry.points, 'point')} · <Time at={nextExpiry.at} as="day" />
                    </span>
                  ),
                ],
              ]}
            />
            <div className="mt-3">
              <Button small aria-label={`Movements of ${programmeName}`} onClick={() => setOpen(account)}>
                Movements
              </Button>
            </div>
          </Card>
        )
      })}
      <Modal open={open !== null} onClose={close} wide title={`Points: ${open?.programmeName ?? ''}`}>
        {open && (
          <>
            <For atLeast="editor">
              <AdjustPoints programmeKey={open.programmeKey} profileId={id} onDone={close} />
            </For>
            <Movements programmeKey={open.programmeKey} profileId={id} />
          </>
        )}
      </Modal>
    </>
  )
}

/** Adds points, or takes some. */
const AdjustPoints = ({
  programmeKey: key,
  profileId,
  onDone,
}: {
  programmeKey: string
  profileId: string
  onDone: () => void
}) => {
  const projectId = useProjectId()
  // A repeat after a lost answer has the same key, and so moves nothing.
  const [movementKey] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join('-'))
  const adjust = useChange(
    ({ points = '', reason = '' }: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/loyalty-programmes/{key}/adjust', {
          params: { path: { projectId, key } },
          body: {
            profileId,
            points: Number(points),
            key: movementKey,
            ...(reason.trim() !== '' && { reason: reason.trim() }),
          },
        }),
      ),
    { done: 'Points changed', quiet: true, onDone },
  )
  return (
    <div className="mb-4">
      <Form
        submit="Change points"
        busy={adjust.isPending}
        error={adjust.error}
        names={['points', 'reason']}
        onSubmit={(values) => adjust.mutate(values)}
      >
        <div className="grid gap-2 sm:grid-cols-2">
          <Input
            label="Points"
            name="points"
            type="number"
            required
            min={-MAX_POINTS}
            max={MAX_POINTS}
            hint="Below 0 takes the oldest ones."
          />
          <Input label="Reason" name="reason" maxLength={500} hint="No personal data." />
        </div>
      </Form>
    </div>
  )
}
