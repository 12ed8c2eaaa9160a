import type { ReactNode } from 'react'
import { messageOf } from '../api/client.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

/** Shown while something is loading. */
export const Skeleton = ({ className = 'h-4 w-full' }: { className?: string }) => (
  <div aria-hidden="true" className={`animate-pulse rounded-md bg-subtle ${className}`} />
)

/** Shown while a block is loading. */
export const SkeletonBlock = ({ className }: { className: string }) => (
  <div role="status" aria-label="Loading">
    <Skeleton className={className} />
  </div>
)

/** Shown while a block of lines is loading. */
export const SkeletonLines = ({ lines = 5 }: { lines?: number }) => (
  <div role="status" aria-label="Loading" className="flex flex-col gap-3 p-4">
    {Array.from({ length: lines }, (_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
      <Skeleton key={line} className={`h-4 ${['w-full', 'w-5/6', 'w-3/4'][line % 3]}`} />
    ))}
  </div>
)

/** Shows a loading error with a button to retry. */
export const ErrorState = ({ error, retry }: { error: unknown; retry?: () => void }) => (
  <div role="alert" className="flex flex-col items-start gap-3 p-4 sm:flex-row sm:items-center">
    <Icon name="alert" className="size-5 text-danger" />
    <p className="min-w-0 grow whitespace-pre-line break-words">{messageOf(error)}</p>
    {retry && (
      <Button small icon="refresh" onClick={retry}>
        Try again
      </Button>
    )}
  </div>
)

const TITLE = 'max-w-full text-lg font-semibold break-words'

/** Explains an empty list and what to do next. */
export const EmptyState = ({
  icon,
  title,
  children,
  action,
  isPage = false,
}: {
  icon: IconName
  title: string
  children?: ReactNode
  action?: ReactNode
  /** Whether it is all that the page shows, so that its title is the heading of the page. */
  isPage?: boolean
}) => (
  <div className="mx-auto flex max-w-xl flex-col items-center gap-3 px-4 py-12 text-center">
    <span className="grid size-11 place-items-center rounded-xl bg-accent-soft text-accent-text">
      <Icon name={icon} className="size-5" />
    </span>
    {isPage ? <h1 className={TITLE}>{title}</h1> : <h2 className={TITLE}>{title}</h2>}
    {children && <div className="w-full text-muted">{children}</div>}
    {action && <div className="mt-1 flex flex-wrap justify-center gap-2">{action}</div>}
  </div>
)

/** A message about what is on the page. */
export const Notice = ({
  tone = 'info',
  children,
}: {
  tone?: 'info' | 'warning' | 'danger' | 'success'
  children: ReactNode
}) => {
  const tones = {
    info: 'bg-info-soft text-info',
    warning: 'bg-warning-soft text-warning',
    danger: 'bg-danger-soft text-danger',
    success: 'bg-accent-soft text-accent-text',
  }
  return (
    <div
      role={tone === 'danger' ? 'alert' : 'status'}
      className={`flex items-start gap-2 rounded-lg px-3 py-2 whitespace-pre-line ${tones[tone]}`}
    >
      <Icon name={tone === 'success' ? 'check' : 'alert'} className="mt-0.5" />
      <div className="min-w-0 grow break-words">{children}</div>
    </div>
  )
}
