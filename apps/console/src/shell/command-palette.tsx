import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useAccount, useMay, useProjectId } from '../api/session.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { PAGES } from './navigation.ts'
import { currentTheme, setTheme } from './theme.ts'

/** The keys that open the palette, as they are called on the user's keyboard. */
const KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K'

type Command = { label: string; icon: IconName; run: () => void }

const useCommands = (): Command[] => {
  const navigate = useNavigate()
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const isAdmin = useMay('admin')
  const projects = useAccount()?.projects ?? []
  const params = { projectId }
  const create = { new: '1' } as never
  return [
    ...PAGES.map(({ title, to, icon }) => ({
      label: title,
      icon,
      run: () => void navigate({ to, params }),
    })),
    ...(mayEdit
      ? ([
          {
            label: 'Create a link',
            icon: 'plus',
            run: () => void navigate({ to: '/p/$projectId/links', params, search: create }),
          },
          {
            label: 'Create a coupon pool',
            icon: 'plus',
            run: () => void navigate({ to: '/p/$projectId/coupons', params, search: create }),
          },
          {
            label: 'Create a decision',
            icon: 'plus',
            run: () => void navigate({ to: '/p/$projectId/decisions/_new', params }),
          },
          {
            label: 'Webhooks',
            icon: 'external',
            run: () => void navigate({ to: '/p/$projectId/settings/webhooks', params }),
          },
        ] as const)
      : []),
    ...(isAdmin
      ? ([
          {
            label: 'API keys',
            icon: 'key',
            run: () => void navigate({ to: '/p/$projectId/settings/keys', params }),
          },
          {
            label: 'Members',
            icon: 'people',
            run: () => void navigate({ to: '/p/$projectId/settings/members', params }),
          },
          {
            label: 'Audit log',
            icon: 'catalog',
            run: () => void navigate({ to: '/p/$projectId/settings/audit', params }),
          },
        ] as const)
      : []),
    {
      label: 'Switch between light and dark',
      icon: 'moon',
      run: () => setTheme(currentTheme() === 'dark' ? 'light' : 'dark'),
    },
    ...projects
      .filter(({ id }) => id !== projectId)
      .map(({ id, name }) => ({
        label: `Project ${name}`,
        icon: 'home' as const,
        run: () => void navigate({ to: '/p/$projectId', params: { projectId: id } }),
      })),
  ]
}

/** Searches pages and actions, opened with Ctrl+K or Command+K. */
export const CommandPalette = () => {
  const [open, setOpen] = useState(false)
  const commands = useCommands()
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        className="mb-3 flex items-center gap-2 rounded-lg border border-line bg-page px-2.5 py-1.5 text-muted hover:border-line-strong hover:text-text"
      >
        <Icon name="search" /> Go to…
        <kbd className="ml-auto font-sans text-[0.86rem]">{KEYS}</kbd>
      </button>
      <Dialog.Root open={open} onOpenChange={setOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
          <Dialog.Popup className="fixed top-[12dvh] left-1/2 z-40 w-[calc(100vw-2rem)] max-w-lg -translate-x-1/2 overflow-hidden rounded-xl border border-line bg-surface shadow-raised">
            <Dialog.Title className="sr-only">Go to</Dialog.Title>
            <Autocomplete.Root
              open
              inline
              items={commands}
              itemToStringValue={({ label }) => label}
              autoHighlight="always"
            >
              <div className="flex items-center gap-2.5 border-b border-line px-4">
                <Icon name="search" className="text-muted" />
                <Autocomplete.Input
                  aria-label="Page or action"
                  placeholder="Page or action"
                  className="h-12 grow bg-transparent outline-none"
                />
              </div>
              <Autocomplete.Empty className="px-4 py-3 text-muted empty:p-0">
                Nothing is called that.
              </Autocomplete.Empty>
              <Autocomplete.List className="max-h-80 overflow-y-auto p-1.5 empty:p-0">
                {(command: Command) => (
                  <Autocomplete.Item
                    key={command.label}
                    value={command}
                    onClick={() => {
                      setOpen(false)
                      command.run()
                    }}
                    className="flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-2 outline-none data-highlighted:bg-accent-soft data-highlighted:text-accent-text"
                  >
                    <Icon name={command.icon} /> {command.label}
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
            </Autocomplete.Root>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </>
  )
}
