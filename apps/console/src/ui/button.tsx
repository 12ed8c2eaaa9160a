import type { ComponentProps } from 'react'
import { useMay } from '../api/session.ts'
import type { Role } from '../api/types.ts'
import { Icon, type IconName } from './icon.tsx'
import { Spinner } from './spinner.tsx'

type Look = 'primary' | 'secondary' | 'quiet' | 'danger'

const LOOKS: Record<Look, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover border-transparent shadow-card',
  secondary: 'bg-surface text-text border-line-strong hover:bg-subtle shadow-card',
  quiet: 'border-transparent text-muted hover:bg-subtle hover:text-text',
  danger: 'bg-surface text-danger border-line-strong hover:bg-danger-soft hover:border-danger',
}

/** The styles of buttons and of links that look like buttons. */
export const buttonClass = (look: Look = 'secondary', small = false): string =>
  `inline-flex shrink-0 items-center justify-center gap-1.5 rounded-lg border font-medium whitespace-nowrap transition-colors ` +
  `disabled:cursor-not-allowed disabled:opacity-50 aria-disabled:cursor-not-allowed aria-disabled:opacity-50 ${small ? 'h-7 px-2 text-[0.93rem]' : 'h-9 px-3'} ${LOOKS[look]}`

type Props = ComponentProps<'button'> & {
  look?: Look
  small?: boolean
  icon?: IconName
  /** Whether its action is running. */
  busy?: boolean
}

export const Button = ({ look, small, icon, busy, children, className = '', onClick, ...props }: Props) => (
  <button
    type="button"
    {...props}
    // A button that is `disabled` while its action runs would lose the focus.
    aria-disabled={busy || undefined}
    onClick={busy ? (event) => event.preventDefault() : onClick}
    className={`${buttonClass(look, small)} ${className}`}
  >
    {busy ? <Spinner /> : icon && <Icon name={icon} />}
    {children}
  </button>
)

/** Shows its content only to members with a role of `atLeast`. */
export const For = ({ atLeast, children }: { atLeast: Role; children: React.ReactNode }) =>
  useMay(atLeast) ? children : null
