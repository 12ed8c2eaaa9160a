import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { ApiError, api, unwrap } from '../api/client.ts'
import { useUrlState } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { Form, Input } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'
import { AccountFrame, linkClass } from './frame.tsx'

const toSignIn = (
  <Link to="/sign-in" className={linkClass}>
    Back to sign-in
  </Link>
)
const incomplete = <Notice tone="warning">This link is not complete. Open the one in the email again.</Notice>

/** The error of a request with the token of an emailed link. */
const linkError = (error: Error | null): Error | null =>
  error instanceof ApiError && error.problems.some(({ field }) => field === 'token')
    ? new Error('This link was used, has expired or is not complete.')
    : error

/** Requests the email that resets a password. */
export const ForgotPassword = () => {
  const request = useChange(
    (email: string) => unwrap(api.POST('/api/auth/forgot-password', { body: { email } })),
    { quiet: true },
  )
  return (
    <AccountFrame title="Reset your password" foot={toSignIn}>
      {request.isSuccess ? (
        <Notice>
          If this address has an account, an email with a link is on its way. The link is valid for 1 hour.
        </Notice>
      ) : (
        <Form
          submit="Send the email"
          busy={request.isPending}
          error={request.error}
          names={['email']}
          onSubmit={({ email = '' }) => request.mutate(email)}
        >
          <Input label="Email" name="email" type="email" autoComplete="username" required autoFocus />
        </Form>
      )}
    </AccountFrame>
  )
}

/** The page of the link that resets a password. */
export const ResetPassword = () => {
  const navigate = useNavigate()
  const [{ token = '' }] = useUrlState<'token'>()
  const reset = useChange(
    (password: string) => unwrap(api.POST('/api/auth/reset-password', { body: { token, password } })),
    {
      done: 'Password changed. Sign in with the new one.',
      quiet: true,
      onDone: () => void navigate({ to: '/sign-in' }),
    },
  )
  return (
    <AccountFrame
      title="Set a new password"
      foot={
        <Link to="/forgot-password" className={linkClass}>
          Request another email
        </Link>
      }
    >
      {token === '' ? (
        incomplete
      ) : (
        <Form
          submit="Set the password"
          busy={reset.isPending}
          error={linkError(reset.error)}
          names={['password']}
          onSubmit={({ password = '' }) => reset.mutate(password)}
        >
          <Input
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            required
            autoFocus
            minLength={12}
            maxLength={128}
            hint="At least 12 characters. You are signed out everywhere."
          />
        </Form>
      )}
    </AccountFrame>
  )
}

const needsPassword = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'password_required'

/**
 * The page of the link that confirms an address. A click confirms, because mail scanners open links. In a browser that is
 * not signed in to the account it asks for the password.
 */
export const VerifyEmail = () => {
  const [{ token = '' }] = useUrlState<'token'>()
  const [asksPassword, setAsksPassword] = useState(false)
  const verify = useChange(
    async (password?: string) => {
      try {
        const body = { token, ...(password !== undefined && { password }) }
        await unwrap(api.POST('/api/auth/verify-email', { body }))
      } catch (error) {
        if (needsPassword(error)) setAsksPassword(true)
        throw error
      }
    },
    { quiet: true },
  )
  return (
    <AccountFrame
      title="Confirm your email address"
      foot={
        <Link to="/" className={linkClass}>
          Open the console
        </Link>
      }
    >
      {token === '' ? (
        incomplete
      ) : verify.isSuccess ? (
        <Notice>Your address is confirmed.</Notice>
      ) : asksPassword ? (
        <div className="flex flex-col gap-4">
          <p>Enter the password that you chose when you created the account.</p>
          <Form
            submit="Confirm the address"
            busy={verify.isPending}
            error={needsPassword(verify.error) ? null : linkError(verify.error)}
            names={['password']}
            onSubmit={({ password = '' }) => verify.mutate(password)}
          >
            <Input
              label="Password"
              name="password"
              type="password"
              autoComplete="current-password"
              required
              autoFocus
            />
          </Form>
          <p>
            You did not create it, or forgot the password?{' '}
            <Link to="/forgot-password" className={linkClass}>
              Set a new password
            </Link>
            . This removes what was set up in the account before.
          </p>
        </div>
      ) : (
        <div className="flex flex-col gap-4">
          <p>Confirm that the address which received this link is yours.</p>
          {verify.error && <Notice tone="danger">{linkError(verify.error)?.message}</Notice>}
          <Button look="primary" busy={verify.isPending} onClick={() => verify.mutate(undefined)}>
            Confirm the address
          </Button>
        </div>
      )}
    </AccountFrame>
  )
}
