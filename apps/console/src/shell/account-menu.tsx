import { useNavigate } from '@tanstack/react-router'
import { useAccount, useProjectId } from '../api/session.ts'
import { Icon } from '../ui/icon.tsx'
import { Menu, MenuItem, MenuLine } from './menu.tsx'
import { useSignOut } from './sign-out.ts'
import { setTheme, useTheme } from './theme.ts'

/** The user, the theme, and the sign-out. */
export const AccountMenu = () => {
  const account = useAccount()
  const projectId = useProjectId()
  const navigate = useNavigate()
  const signOut = useSignOut()
  const theme = useTheme()
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
      <MenuItem onClick={() => setTheme(theme === 'dark' ? 'light' : 'dark')}>
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
