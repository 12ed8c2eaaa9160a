import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { codeBody } from '../api/reauthentication.ts'
import type { Account } from '../api/types.ts'
import { Form, Input } from '../ui/form.tsx'
import { CodeInput } from './code-input.tsx'

/** Asks for an email address and a password, then for a code where the account has a second factor. */
export const SignInForm = ({
  email,
  needsCode,
  onNeedsCode,
  onSignedIn,
  onEmailChange,
}: {
  /** The address that is filled in. */
  email?: string | undefined
  /** Whether the password was accepted and a code is needed. */
  needsCode: boolean
  onNeedsCode: () => void
  onSignedIn: (account: Account) => void
  onEmailChange?: (email: string) => void
}) => {
  const signIn = useChange(
    (body: { email: string; password: string }) => unwrap(api.POST('/api/auth/login', { body })),
    { quiet: true, onDone: (answer) => ('user' in answer ? onSignedIn(answer) : onNeedsCode()) },
  )
  const complete = useChange(
    (text: string) => unwrap(api.POST('/api/auth/login/second-factor', { body: codeBody(text) })),
    { quiet: true, onDone: onSignedIn },
  )
  if (needsCode)
    return (
      <Form
        key="code"
        submit="Sign in"
        busy={complete.isPending}
        error={complete.error}
        names={['code']}
        onSubmit={({ code = '' }) => complete.mutate(code)}
      >
        <CodeInput />
      </Form>
    )
  return (
    <Form
      key="password"
      submit="Sign in"
      busy={signIn.isPending}
      error={signIn.error}
      onSubmit={({ email = '', password = '' }) => signIn.mutate({ email, password })}
    >
      <Input
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        required
        defaultValue={email}
        autoFocus={email === undefined}
        onChange={(event) => onEmailChange?.(event.target.value)}
      />
      <Input
        label="Password"
        name="password"
        type="password"
        autoComplete="current-password"
        required
        autoFocus={email !== undefined}
      />
    </Form>
  )
}
