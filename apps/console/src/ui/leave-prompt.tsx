import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router'
import { ConfirmDialog } from './dialog.tsx'

// The same page may open another view or dialog.
const opensOtherPage: ShouldBlockFn = ({ current, next }) => current.pathname !== next.pathname

/** Asks before another page is opened or the tab is closed, while changes are not saved. */
export const LeavePrompt = ({ changed }: { changed: boolean }) => {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: opensOtherPage,
    enableBeforeUnload: changed,
    disabled: !changed,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      open={status === 'blocked'}
      onClose={() => reset?.()}
      title="Leave without saving?"
      confirm="Leave"
      onConfirm={() => proceed?.()}
    >
      What you have changed on this page is lost.
    </ConfirmDialog>
  )
}
