import { ShownOnce } from '../ui/shown-once.tsx'

/** Shows the new secret of a webhook. */
export const SecretDialog = ({ secret, onClose }: { secret: string | undefined; onClose: () => void }) => (
  <ShownOnce title="Secret of the webhook" label="New secret" secret={secret} onClose={onClose}>
    {' '}
    The endpoint verifies the signature of messages with it.
  </ShownOnce>
)
