import { Link } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useUrlState } from '../api/url-state.ts'
import { Form, Input } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'
import { AccountFrame, linkClass } from './frame.tsx'
import { useEnter } from './sign-in.tsx'

export const SignUp = () => {
  const enter = useEnter()
  const [{ token }] = useUrlState<'token'>()
  const signUp = useChange(
    (body: {
      name: string
      email: string
      password: string
      tenantName?: string
      invitationToken?: string
    }) => unwrap(api.POST('/api/auth/register', { body })),
    { quiet: true, onDone: enter },
  )
  return (
    <AccountFrame
      title="Create your account"
      foot={
        <>
          Already signed up?{' '}
          <Link to="/sign-in" className={linkClass}>
            Sign in
          </Link>
        </>
      }
    >
      <Form
        submit="Sign up"
        busy={signUp.isPending}
        error={signUp.error}
        names={['name', 'email', 'password', 'tenantName']}
        onSubmit={({ name = '', email = '', password = '', tenantName }) =>
          signUp.mutate({
            name,
            email,
            password,
            ...(tenantName && { tenantName }),
            ...(token && { invitationToken: token }),
          })
        }
      >
        {token && <Notice>You have been invited. Use the email address that the invitation is for.</Notice>}
        <Input label="Name" name="name" autoComplete="name" required maxLength={200} autoFocus />
        <Input label="Email" name="email" type="email" autoComplete="email" required />
        <Input
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          required
          minLength={12}
          maxLength={128}
          hint="At least 12 characters."
        />
        {!token && (
          <Input
            label="Company"
            name="tenantName"
            autoComplete="organization"
            hint="May be left empty."
            maxLength={200}
          />
        )}
      </Form>
    </AccountFrame>
  )
}
