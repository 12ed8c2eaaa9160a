import { useEffect, useState } from 'react'
import { CodeInput } from '../account/code-input.tsx'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { codeBody, type ProofMethod, setAskForProof } from '../api/reauthentication.ts'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'

type Asked = { method: ProofMethod; answer: (proved: boolean) => void }

/** Asks for a code or the password before an action that needs a recent sign-in. The action is then repeated. */
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
      {asked && <ProofForm method={asked.method} onDone={() => close(true)} onCancel={() => close(false)} />}
    </Modal>
  )
}

const ProofForm = ({
  method,
  onDone,
  onCancel,
}: {
  method: ProofMethod
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
