import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog } from '@base-ui/react/dialog'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { messageOf } from '../api/client.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { Notice } from './states.tsx'

const BACKDROP =
  'fixed inset-0 z-40 bg-black/40 transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0'
const MODAL =
  'fixed top-1/2 left-1/2 z-40 flex max-h-[90dvh] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col rounded-xl border border-line bg-surface shadow-raised transition duration-150 data-ending-style:scale-95 data-ending-style:opacity-0 data-starting-style:scale-95 data-starting-style:opacity-0'
const SHEET =
  'fixed inset-y-0 right-0 z-40 flex w-full max-w-xl flex-col border-l border-line bg-surface shadow-raised transition-transform duration-200 data-ending-style:translate-x-full data-starting-style:translate-x-full'

type Props = {
  open: boolean
  /** Without it, the dialog cannot be closed. */
  onClose?: () => void
  title: string
  description?: ReactNode
  children: ReactNode
  /** `sheet` slides in from the right, for content that is read beside the page. */
  as?: 'modal' | 'sheet'
  wide?: boolean
}

const FIELDS = 'input:not([type=hidden]), select, textarea'

/** A modal dialog. Its first field has the focus, if it has one. */
export const Modal = ({ open, onClose, title, description, children, as = 'modal', wide = false }: Props) => {
  const content = useRef<HTMLDivElement>(null)
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose?.()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP} />
        <Dialog.Popup
          // On touch screens a focused field would open the keyboard over the dialog.
          initialFocus={(by) =>
            by === 'touch' || (content.current?.querySelector<HTMLElement>(FIELDS) ?? true)
          }
          className={as === 'sheet' ? SHEET : `${MODAL} ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
        >
          <header className="flex items-start justify-between gap-4 border-b border-line px-5 py-4">
            <div className="min-w-0">
              <Dialog.Title className="text-lg font-semibold break-words">{title}</Dialog.Title>
              {description && <Dialog.Description className="text-muted">{description}</Dialog.Description>}
            </div>
            {onClose && (
              <Dialog.Close
                aria-label="Close"
                className="rounded-md p-1.5 text-muted hover:bg-subtle hover:text-text"
              >
                <Icon name="x" />
              </Dialog.Close>
            )}
          </header>
          <div ref={content} className="min-h-0 grow overflow-y-auto p-5">
            {children}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** Asks the user to confirm an action that cannot be undone. */
export const ConfirmDialog = ({
  open,
  onClose,
  title,
  children,
  confirm,
  onConfirm,
  busy = false,
  error,
}: {
  open: boolean
  onClose: () => void
  title: string
  children: ReactNode
  /** The label of the button that confirms. */
  confirm: string
  onConfirm: () => void
  busy?: boolean
  error?: unknown
}) => (
  <AlertDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className={BACKDROP} />
      <AlertDialog.Popup className={`${MODAL} max-w-md gap-3 overflow-y-auto p-5`}>
        <AlertDialog.Title className="text-lg font-semibold break-words">{title}</AlertDialog.Title>
        <AlertDialog.Description className="text-muted">{children}</AlertDialog.Description>
        {error !== undefined && <Notice tone="danger">{messageOf(error)}</Notice>}
        <div className="mt-2 flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" busy={busy} onClick={onConfirm}>
            {confirm}
          </Button>
        </div>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
)

/** A button for an action that cannot be undone, which the user must confirm. */
export const ConfirmButton = ({
  label,
  title,
  children,
  confirm,
  onConfirm,
  small = false,
}: {
  label: string
  title: string
  children: ReactNode
  /** The label of the button that confirms. */
  confirm: string
  onConfirm: () => Promise<unknown>
  small?: boolean
}) => {
  const button = useRef<HTMLButtonElement>(null)
  const [open, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  useFocusAfterRemoval(button, open)
  const start = () => {
    setError(undefined)
    setOpen(true)
  }
  const go = async () => {
    setBusy(true)
    try {
      await onConfirm()
      setOpen(false)
    } catch (reason) {
      setError(reason)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <Button ref={button} look="danger" small={small} onClick={start}>
        {label}
      </Button>
      <ConfirmDialog
        open={open}
        title={title}
        confirm={confirm}
        busy={busy}
        error={error}
        onClose={() => setOpen(false)}
        onConfirm={() => void go()}
      >
        {children}
      </ConfirmDialog>
    </>
  )
}

/** Moves the focus to the table or the page when the button of a dialog has disappeared with what it acted on. */
const useFocusAfterRemoval = (button: RefObject<HTMLElement | null>, open: boolean): void => {
  useEffect(() => {
    const opener = button.current
    if (!open || !opener) return
    const table = opener.closest<HTMLElement>('section[tabindex="0"]')
    return () => {
      setTimeout(() => {
        if (opener.isConnected) return
        const place = table?.isConnected ? table : document.getElementById('content')
        place?.focus({ preventScroll: true })
      })
    }
  }, [button, open])
}
