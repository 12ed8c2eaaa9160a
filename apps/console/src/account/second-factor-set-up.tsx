import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Form, Input } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'

/** Recovery codes, which the API answers only once. */
export const RecoveryCodes = ({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) => (
  <div className="flex flex-col gap-4">
    <Notice tone="warning">
      Keep these recovery codes apart from your phone. Each replaces the app once, when you have lost it. They
      are not shown again.
    </Notice>
    <CodeBlock label="Recovery codes" text={codes.join('\n')} />
    <Button look="primary" onClick={onDone}>
      I have kept them
    </Button>
  </div>
)

/** The steps that set up an authenticator app: scan the code, confirm it, keep the recovery codes. */
export const SecondFactorSetUp = ({ onDone }: { onDone: () => void }) => {
  const start = useChange(() => unwrap(api.POST('/api/auth/second-factor')), { quiet: true })
  const confirm = useChange(
    (code: string) => unwrap(api.POST('/api/auth/second-factor/confirm', { body: { code } })),
    { quiet: true },
  )
  if (confirm.data) return <RecoveryCodes codes={confirm.data.recoveryCodes} onDone={onDone} />
  if (!start.data)
    return (
      <div className="flex flex-col gap-4">
        <p>
          An authenticator app on your phone, such as 2FAS, Aegis or Google Authenticator, shows a code that
          you enter after your password.
        </p>
        {start.error && <Notice tone="danger">{start.error.message}</Notice>}
        <Button look="primary" busy={start.isPending} onClick={() => start.mutate()}>
          Show the QR code
        </Button>
      </div>
    )
  return (
    <Form
      submit="Confirm"
      busy={confirm.isPending}
      error={confirm.error}
      names={['code']}
      onSubmit={({ code = '' }) => confirm.mutate(code)}
    >
      <p>Scan this with the app, or type the key in. Then enter the code that it shows.</p>
      <img
        src={start.data.qrCode}
        alt="QR code for the authenticator app"
        className="mx-auto size-48 rounded-lg"
      />
      <CodeBlock label="Key" text={start.data.secret} />
      <Input
        label="Code"
        name="code"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        maxLength={20}
        hint="Six digits. You are signed out everywhere else."
      />
    </Form>
  )
}
