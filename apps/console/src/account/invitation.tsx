import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useAccount } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { Form, Input } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'
import { AccountFrame } from './frame.tsx'
import { useEnter } from './sign-in.tsx'

/** The page of an invitation link. */
export const AcceptInvitation = () => {
  const enter = useEnter()
  const account = useAccount()
  const [{ token = '' }] = useUrlState<'token'>()
  const accept = useChange(
    (body: { name?: string; password?: string }) =>
      unwrap(api.POST('/api/auth/invitations/accept', { body: { token, ...body } })),
    { quiet: true, onDone: enter },
  )
  return (
    <AccountFrame title="Join the project">
      {token === '' ? (
        <Notice tone="warning">This link is not complete. Open the one that you were sent again.</Notice>
      ) : account ? (
        <div className="flex flex-col gap-4">
          <p>You are signed in as {account.user.email}.</p>
          {accept.error && <Notice tone="danger">{accept.error.message}</Notice>}
          <Button look="primary" busy={accept.isPending} onClick={() => accept.mutate({})}>
            Accept the invitation
          </Button>
        </div>
      ) : (
        <Form
          submit="Accept the invitation"
          busy={accept.isPending}
          error={accept.error}
          names={['name', 'password']}
          onSubmit={({ name, password }) =>
            accept.mutate({ ...(name && { name }), ...(password && { password }) })
          }
        >
          <Input label="Name" name="name" autoComplete="name" hint="Only when you have no account yet." />
          <Input
            label="Password"
            name="password"
            type="password"
            autoComplete="current-password"
            required
            hint="Of your account, or a new one of at least 12 characters."
          />
        </Form>
      )}
    </AccountFrame>
  )
}
