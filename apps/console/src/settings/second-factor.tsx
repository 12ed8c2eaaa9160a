import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { RecoveryCodes, SecondFactorSetUp } from '../account/second-factor-set-up.tsx'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import type { SecondFactor } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'

/** The second factor of the user. */
export const SecondFactorCard = () => {
  const [dialog, openDialog, closeDialog] = useUrlDialog<'second-factor'>('viewer')
  const [codes, setCodes] = useState<readonly string[]>()
  const factor = useQuery({
    queryKey: ['second-factor'],
    queryFn: (): Promise<SecondFactor> => unwrap(api.GET('/api/auth/second-factor')),
  })
  const renew = useChange(() => unwrap(api.POST('/api/auth/second-factor/recovery-codes')), {
    quiet: true,
    onDone: ({ recoveryCodes }) => setCodes(recoveryCodes),
  })
  const remove = useChange(() => unwrap(api.DELETE('/api/auth/second-factor')), {
    done: 'Second factor removed',
    quiet: true,
  })
  const content = () => {
    if (factor.error) return <ErrorState error={factor.error} retry={() => void factor.refetch()} />
    if (!factor.data) return <SkeletonLines lines={2} />
    const { setUpAt, recoveryCodesLeft, requiredBy } = factor.data
    if (setUpAt === null)
      return (
        <div className="flex flex-col items-start gap-3">
          <p className="text-muted">Anyone who learns your password can sign in as you.</p>
          <Button look="primary" onClick={() => openDialog('second-factor')}>
            Set up a second factor
          </Button>
        </div>
      )
    return (
      <div className="flex flex-col gap-4">
        <Facts
          rows={[
            ['Authenticator app since', <Time key="since" at={setUpAt} as="day" />],
            ['Recovery codes left', `${recoveryCodesLeft}`],
          ]}
        />
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => openDialog('second-factor')}>Set up another phone</Button>
          <ConfirmButton
            label="New recovery codes"
            title="Replace the recovery codes?"
            confirm="Replace"
            onConfirm={() => renew.mutateAsync()}
          >
            The codes that you have now stop working.
          </ConfirmButton>
          {requiredBy.length === 0 ? (
            <ConfirmButton
              label="Remove"
              title="Remove the second factor?"
              confirm="Remove"
              onConfirm={() => remove.mutateAsync()}
            >
              A sign-in then needs the password only. You are signed out everywhere else.
            </ConfirmButton>
          ) : (
            <p className="text-muted">{requiredBy.map(({ name }) => name).join(', ')} requires it.</p>
          )}
        </div>
      </div>
    )
  }
  return (
    <Card title="Second factor" padded>
      {content()}
      <Modal open={dialog === 'second-factor'} onClose={closeDialog} title="Set up an authenticator app">
        <SecondFactorSetUp onDone={closeDialog} />
      </Modal>
      <Modal open={codes !== undefined} onClose={() => setCodes(undefined)} title="Your new recovery codes">
        <RecoveryCodes codes={codes ?? []} onDone={() => setCodes(undefined)} />
      </Modal>
    </Card>
  )
}
