import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { codeBody } from '../api/reauthentication.ts'
import { accountQuery, noteSignedIn, onSignedInElsewhere } from '../api/session.ts'
import type { Account } from '../api/types.ts'
import { Form, Input } from '../ui/form.tsx'
import { CodeInput } from './code-input.tsx'
import { AccountFrame, linkClass } from './frame.tsx'

/** Opens the page that was requested before the sign-in. */
const useOpenNext = () => {
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
  useEffect(() => onSignedInElsewhere(openNext))
  const [needsCode, setNeedsCode] = useState(false)
  const signIn = useChange(
    (body: { email: string; password: string }) => unwrap(api.POST('/api/auth/login', { body })),
    { quiet: true, onDone: (answer) => ('user' in answer ? enter(answer) : setNeedsCode(true)) },
  )
  const complete = useChange(
    (text: string) => unwrap(api.POST('/api/auth/login/second-factor', { body: codeBody(text) })),
    { quiet: true, onDone: enter },
  )
  if (needsCode)
    return (
      <AccountFrame
        title="Enter your code"
        foot={
          <button type="button" className={linkClass} onClick={() => setNeedsCode(false)}>
            Back to the password
          </button>
        }
      >
        <Form
          submit="Sign in"
          busy={complete.isPending}
          error={complete.error}
          names={['code']}
          onSubmit={({ code = '' }) => complete.mutate(code)}
        >
          <CodeInput />
        </Form>
      </AccountFrame>
    )
  return (
    <AccountFrame
      title="Sign in to Waymark"
      foot={
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
      }
    >
      <Form
        submit="Sign in"
        busy={signIn.isPending}
        error={signIn.error}
        onSubmit={({ email = '', password = '' }) => signIn.mutate({ email, password })}
      >
        <Input label="Email" name="email" type="email" autoComplete="username" required autoFocus />
        <Input label="Password" name="password" type="password" autoComplete="current-password" required />
      </Form>
    </AccountFrame>
  )
}
