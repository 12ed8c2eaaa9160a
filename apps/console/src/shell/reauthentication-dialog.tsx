import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { CodeInput } from '../account/code-input.tsx'
import { useChange } from '../api/change.ts'
import { api, messageOf, unwrap } from '../api/client.ts'
import { codeBody, onProvedElsewhere, type ProofMethod, setAskForProof } from '../api/reauthentication.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'
import { Notice } from '../ui/states.tsx'

type Asked = { method: ProofMethod; answer: (proved: boolean) => void }

/** Asks for a code, the password or a sign-in at the provider before an action that needs a recent sign-in. The action is then repeated. */
export const ReauthenticationDialog = () => {
  const [asked, setAsked] = useState<Asked>()
  useEffect(() => setAskForProof((method) => new Promise((answer) => setAsked({ method, answer }))), [])
  const close = (proved: boolean) => {
    asked?.answer(proved)
    setAsked(undefined)
  }
  return (
    <Modal
      open={asked !== undefined}
      onClose={() => close(false)}
      title="Confirm that it is you"
      description="The action needs a sign-in within the last 10 minutes."
    >
      {asked?.method === 'provider' && <ProviderProof onDone={() => close(true)} />}
      {asked && asked.method !== 'provider' && (
        <ProofForm method={asked.method} onDone={() => close(true)} onCancel={() => close(false)} />
      )}
    </Modal>
  )
}

/** A link to the provider, in another tab, so that the page keeps what was typed. */
const ProviderProof = ({ onDone }: { onDone: () => void }) => {
  const [opened, setOpened] = useState(false)
  const start = useMutation({
    mutationFn: () => unwrap(api.POST('/api/auth/oidc/reauthenticate')),
    onSuccess: () => setOpened(false),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the dialog opens
  useEffect(() => start.mutate(), [])
  useEffect(() => onProvedElsewhere(onDone))
  return (
    <div className="flex flex-col items-start gap-4">
      {start.error && <Notice tone="danger">{messageOf(start.error)}</Notice>}
      {opened ? (
        <p role="status">Sign in in the other tab. This page then continues.</p>
      ) : (
        <p>You signed in with a provider, which asks you to sign in again in another tab.</p>
      )}
      {start.data && !opened && (
        <a
          href={start.data.url}
          target="_blank"
          rel="noopener"
          className={buttonClass('primary')}
          onClick={() => setOpened(true)}
        >
          <Icon name="external" /> Sign in again
        </a>
      )}
      {(opened || start.error) && (
        <Button busy={start.isPending} onClick={() => start.mutate()}>
          Begin again
        </Button>
      )}
    </div>
  )
}

const ProofForm = ({
  method,
  onDone,
  onCancel,
}: {
  method: 'code' | 'password'
  onDone: () => void
  onCancel: () => void
}) => {
  const prove = useChange(
    (body: { password: string } | ReturnType<typeof codeBody>) =>
      unwrap(api.POST('/api/auth/reauthenticate', { body })),
    { quiet: true, onDone },
  )
  return (
    <Form
      submit="Confirm"
      busy={prove.isPending}
      error={prove.error}
      names={['password', 'code']}
      onCancel={onCancel}
      onSubmit={({ password, code = '' }) =>
        prove.mutate(password === undefined ? codeBody(code) : { password })
      }
    >
      {method === 'code' ? (
        <CodeInput />
      ) : (
        <Input
          label="Your password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
        />
      )}
    </Form>
  )
}
