import type { ReactNode } from 'react'
import { CodeBlock } from './code.tsx'
import { Modal } from './dialog.tsx'
import { Notice } from './states.tsx'

/** Shows a new secret, which the API answers only once. It is open while there is one. */
export const ShownOnce = ({
  title,
  label,
  secret,
  onClose,
  children,
}: {
  title: string
  label: string
  secret: string | undefined
  onClose: () => void
  children?: ReactNode
}) => (
  <Modal open={secret !== undefined} onClose={onClose} title={title}>
    <div className="flex flex-col gap-4">
      <Notice tone="warning">Copy it now: it is not shown again.{children}</Notice>
      <CodeBlock label={label} text={secret ?? ''} />
    </div>
  </Modal>
)
