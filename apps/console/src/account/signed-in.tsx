import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { noteProved } from '../api/reauthentication.ts'
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

/** Where a user proves at the provider who they are, in a tab of its own. */
export const Proved = () => {
  useEffect(noteProved, [])
  return (
    <AccountFrame title="Thank you">
      <p role="status">You can close this tab. The page in the other tab continues.</p>
    </AccountFrame>
  )
}

/** Shown when the provider has not proved who the user is. */
export const ProofFailed = () => {
  const { failure = '' } = useSearch({ strict: false }) as { failure?: string }
  return (
    <AccountFrame title="It was not confirmed that it is you">
      <Notice tone="danger">{failureText(failure)}</Notice>
      <p className="mt-4">Close this tab, and begin again in the other one.</p>
    </AccountFrame>
  )
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
