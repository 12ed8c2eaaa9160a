import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { accountQuery, noteSignedIn, onSignedInElsewhere } from '../api/session.ts'
import type { Account } from '../api/types.ts'
import { Notice } from '../ui/states.tsx'
import { AccountFrame, linkClass } from './frame.tsx'
import { ProviderButtons } from './provider-buttons.tsx'
import { failureText } from './sign-in-failures.ts'
import { SignInForm } from './sign-in-form.tsx'

/** Opens the page that was requested before the sign-in. */
export const useOpenNext = () => {
  const navigate = useNavigate()
  const { next } = useSearch({ strict: false }) as { next?: string }
  // Only paths within the console, because the link may come from a stranger.
  return () => void navigate({ to: next?.startsWith('/p/') ? next : '/' })
}

/** Stores the session state, and opens the page that was requested before the sign-in. */
export const useEnter = () => {
  const client = useQueryClient()
  const openNext = useOpenNext()
  return (account: Account) => {
    noteSignedIn(true)
    client.setQueryData(accountQuery.queryKey, account)
    openNext()
  }
}

export const SignIn = () => {
  const enter = useEnter()
  const openNext = useOpenNext()
  const [email, setEmail] = useState('')
  const { failure, provider, next } = useSearch({ strict: false }) as {
    failure?: string
    provider?: string
    next?: string
  }
  useEffect(() => onSignedInElsewhere(openNext))
  const [needsCode, setNeedsCode] = useState(false)
  return (
    <AccountFrame
      title={needsCode ? 'Enter your code' : 'Sign in to Waymark'}
      foot={
        needsCode ? (
          <button type="button" className={linkClass} onClick={() => setNeedsCode(false)}>
            Back to the password
          </button>
        ) : (
          <>
            No account yet?{' '}
            <Link to="/sign-up" className={linkClass}>
              Sign up
            </Link>
            <br />
            <Link to="/forgot-password" className={linkClass}>
              Forgot your password?
            </Link>
          </>
        )
      }
    >
      {failure !== undefined && (
        <div className="mb-4">
          <Notice tone="danger">{failureText(failure)}</Notice>
        </div>
      )}
      <SignInForm
        needsCode={needsCode}
        onNeedsCode={() => setNeedsCode(true)}
        onSignedIn={enter}
        onEmailChange={setEmail}
      />
      {!needsCode && <ProviderButtons email={email} providerId={provider} next={next} />}
    </AccountFrame>
  )
}
