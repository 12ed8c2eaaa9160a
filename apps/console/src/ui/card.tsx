import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'
import type { PagePath } from './page-path.ts'
import { usePageTitle } from './page-title.ts'

/** A block of a page. */
export const Card = ({
  title,
  description,
  actions,
  children,
  className = '',
  padded = false,
}: {
  title?: ReactNode
  description?: ReactNode
  actions?: ReactNode
  children: ReactNode
  className?: string
  padded?: boolean
}) => (
  <section className={`overflow-hidden rounded-xl border border-line bg-surface shadow-card ${className}`}>
    {(title || actions) && (
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-3.5 pb-2.5">
        <div className="min-w-0">
          {title && <h2 className="font-semibold">{title}</h2>}
          {description && <p className="text-muted">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
    )}
    <div className={padded ? `px-4 pb-4 ${title || actions ? '' : 'pt-4'}` : ''}>{children}</div>
  </section>
)

/** The title of a page, its description and its actions. */
export const PageHeader = ({
  title,
  description,
  actions,
  back,
  aside,
}: {
  title: string
  description?: ReactNode
  actions?: ReactNode
  back?: { to: PagePath; params?: Record<string, string>; label: string }
  aside?: ReactNode
}) => {
  usePageTitle(title)
  return (
    <header className="mb-5 flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        {back && (
          <Link
            to={back.to}
            params={(back.params ?? true) as never}
            className="mb-1 inline-flex items-center gap-1 rounded text-muted hover:text-text"
          >
            <Icon name="left" /> {back.label}
          </Link>
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="min-w-0 text-[1.65rem] leading-tight font-semibold tracking-tight break-words">
            {title}
          </h1>
          {aside}
        </div>
        {description && <p className="mt-1 max-w-2xl text-muted">{description}</p>}
      </div>
      {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}

/** Names and values. */
export const Facts = ({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) => (
  <dl className="grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-4 gap-y-2">
    {rows.map(([name, value]) => (
      <div key={name} className="contents">
        <dt className="text-muted">{name}</dt>
        <dd className="min-w-0 break-words [&_time]:whitespace-normal">
          {value ?? <span className="text-muted">–</span>}
        </dd>
      </div>
    ))}
  </dl>
)
