import { Input } from '../ui/form.tsx'

/** The field for a code of the second factor. */
export const CodeInput = () => (
  <Input
    label="Code"
    name="code"
    autoComplete="one-time-code"
    required
    autoFocus
    maxLength={100}
    hint="The six digits of your authenticator app, or a recovery code."
  />
)
