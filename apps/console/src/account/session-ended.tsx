import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import {
  accountQuery,
  noteSignedIn,
  onSignedInElsewhere,
  useAccount,
  useSessionEnded,
} from '../api/session.ts'
import type { Account } from '../api/types.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'
import { SignInForm } from './sign-in-form.tsx'

/** Asks the user to sign in again when the session has ended. The page behind it keeps what was typed. */
export const SessionEnded = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const ended = useSessionEnded()
  const user = useAccount()?.user
  const [needsCode, setNeedsCode] = useState(false)
  const resume = (account: Account) => {
    noteSignedIn(true)
    setNeedsCode(false)
    const isOther = account.user.id !== user?.id
    if (isOther) client.clear()
    client.setQueryData(accountQuery.queryKey, account)
    if (isOther) void navigate({ to: '/' })
    else void client.invalidateQueries()
  }
  const leave = () => {
    client.clear()
    void navigate({ to: '/sign-in' })
  }
  useEffect(() => {
    if (!ended) return
    return onSignedInElsewhere(() => {
      void client.fetchQuery({ ...accountQuery, staleTime: 0 }).then(resume, () => undefined)
    })
  })
  return (
    <Modal
      open={ended}
      title="Sign in again"
      description="Your session has ended. What you typed on this page is still there."
    >
      <SignInForm
        email={user?.email}
        needsCode={needsCode}
        onNeedsCode={() => setNeedsCode(true)}
        onSignedIn={resume}
      />
      <div className="mt-5 flex flex-wrap justify-between gap-2 border-t border-line pt-4">
        <a href="/console/sign-in" target="_blank" rel="noopener" className={buttonClass('quiet')}>
          <Icon name="external" /> Sign in in another tab
        </a>
        <Button look="quiet" onClick={leave}>
          Leave this page
        </Button>
      </div>
    </Modal>
  )
}
