import { Toast } from '@base-ui/react/toast'
import { Icon } from './icon.tsx'

/** Shows short messages from anywhere. */
export const toasts = Toast.createToastManager()

const Messages = () =>
  Toast.useToastManager().toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className={`flex items-start gap-3 rounded-lg border bg-surface p-3 shadow-raised ${toast.type === 'error' ? 'border-danger' : 'border-line'}`}
    >
      <Icon
        name={toast.type === 'error' ? 'alert' : 'check'}
        className={`mt-0.5 ${toast.type === 'error' ? 'text-danger' : 'text-accent-text'}`}
      />
      <div className="min-w-0 grow">
        <Toast.Title className="font-medium" />
        <Toast.Description className="text-muted whitespace-pre-line break-words" />
      </div>
      <Toast.Close aria-label="Dismiss" className="rounded p-1 text-muted hover:text-text">
        <Icon name="x" />
      </Toast.Close>
    </Toast.Root>
  ))

export const Toasts = () => (
  <Toast.Provider toastManager={toasts}>
    <Toast.Portal>
      <Toast.Viewport className="fixed right-4 bottom-4 left-4 z-50 flex flex-col gap-2 sm:mx-auto sm:w-96">
        <Messages />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
)
