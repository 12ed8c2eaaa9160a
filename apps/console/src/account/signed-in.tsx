import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { noteSignedIn } from '../api/session.ts'
import { Notice } from '../ui/states.tsx'
import { AccountFrame, linkClass } from './frame.tsx'
import { useOpenNext } from './sign-in.tsx'
import { failureText } from './sign-in-failures.ts'

/** Where a provider's sign-in ends: opens the page that was requested before. */
export const SignedIn = () => {
  const openNext = useOpenNext()
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    noteSignedIn(true)
    openNext()
  }, [])
  return <AccountFrame title="Signed in">{null}</AccountFrame>
}

/** Shown when a provider could not be linked to the account. */
export const LinkFailed = () => {
  const navigate = useNavigate()
  const { failure = '', next } = useSearch({ strict: false }) as { failure?: string; next?: string }
  return (
    <AccountFrame
      title="The provider was not linked"
      foot={
        <Link
          to="/"
          className={linkClass}
          onClick={(event) => {
            if (!next?.startsWith('/p/')) return
            event.preventDefault()
            void navigate({ to: next })
          }}
        >
          Back to the console
        </Link>
      }
    >
      <Notice tone="danger">{failureText(failure)}</Notice>
    </AccountFrame>
  )
}
