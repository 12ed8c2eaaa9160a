import { CodeBlock } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Notice } from '../ui/states.tsx'

/** Shows a new secret, which the API answers only once. */
export const SecretDialog = ({ secret, onClose }: { secret: string | undefined; onClose: () => void }) => (
  <Modal open={secret !== undefined} onClose={onClose} title="Secret of the webhook">
    <div className="flex flex-col gap-4">
      <Notice tone="warning">
        Copy it now: it is not shown again. The endpoint verifies the signature of messages with it.
      </Notice>
      <CodeBlock label="New secret" text={secret ?? ''} />
    </div>
  </Modal>
)
