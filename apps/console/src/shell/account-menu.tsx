import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import { noteSignedIn, useAccount, useProjectId } from '../api/session.ts'
import { Icon } from '../ui/icon.tsx'
import { Menu, MenuItem, MenuLine } from './menu.tsx'
import { currentTheme, setTheme } from './theme.ts'

/** The user, the theme, and the sign-out. */
export const AccountMenu = () => {
  const account = useAccount()
  const projectId = useProjectId()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [theme, show] = useState(currentTheme)
  const toggle = () => {
    const next = theme === 'dark' ? 'light' : 'dark'
    setTheme(next)
    show(next)
  }
  const signOut = async () => {
    await unwrap(api.POST('/api/auth/logout')).catch(() => undefined)
    noteSignedIn(false)
    client.clear()
    await navigate({ to: '/sign-in' })
  }
  if (!account) return null
  return (
    <Menu
      trigger={
        <button
          type="button"
          className="flex w-full items-center gap-2.5 rounded-lg p-1.5 text-left hover:bg-subtle"
        >
          <span className="sr-only">Account</span>
          <span
            aria-hidden="true"
            className="grid size-8 shrink-0 place-items-center rounded-full bg-subtle font-semibold text-muted"
          >
            {account.user.name.slice(0, 1).toUpperCase()}
          </span>
          <span className="min-w-0 grow">
            <span className="block truncate leading-tight font-medium">{account.user.name}</span>
            <span className="block truncate leading-tight text-muted">{account.user.email}</span>
          </span>
        </button>
      }
    >
      <MenuItem
        onClick={() => void navigate({ to: '/p/$projectId/settings/account', params: { projectId } })}
      >
        <Icon name="user" /> Account and sessions
      </MenuItem>
      <MenuItem onClick={toggle}>
        <Icon name={theme === 'dark' ? 'sun' : 'moon'} /> {theme === 'dark' ? 'Light' : 'Dark'} mode
      </MenuItem>
      <MenuItem onClick={() => window.open('/docs', '_blank', 'noopener')}>
        <Icon name="external" /> API documentation
      </MenuItem>
      <MenuLine />
      <MenuItem onClick={() => void signOut()}>
        <Icon name="left" /> Sign out
      </MenuItem>
    </Menu>
  )
}
