import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { SessionEnded } from '../account/session-ended.tsx'
import { useProject, useProjectId } from '../api/session.ts'
import { Badge } from '../ui/badge.tsx'
import { Icon } from '../ui/icon.tsx'
import { EmptyState } from '../ui/states.tsx'
import { AccountMenu } from './account-menu.tsx'
import { CommandPalette } from './command-palette.tsx'
import { PAGES } from './navigation.ts'
import { ProjectMenu } from './project-menu.tsx'

/** The layout of every page of a project. */
export const Shell = () => {
  const [open, setOpen] = useState(false)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const project = useProject()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the page changes
  useEffect(() => setOpen(false), [path])
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-lg focus:bg-surface focus:px-3 focus:py-2 focus:shadow-raised"
      >
        Skip to the content
      </a>
      <aside className="sticky top-0 z-30 flex flex-col border-line bg-surface max-lg:border-b lg:h-dvh lg:border-r">
        <div className="flex items-center gap-2 px-3 py-2.5 lg:pt-4 lg:pb-3">
          <ProjectMenu />
          <button
            type="button"
            aria-expanded={open}
            aria-label="Menu"
            onClick={() => setOpen(!open)}
            className="ml-auto rounded-lg p-2 text-muted hover:bg-subtle hover:text-text lg:hidden"
          >
            <Icon name={open ? 'x' : 'menu'} className="size-5" />
          </button>
        </div>
        <div
          className={`min-h-0 grow flex-col overflow-y-auto px-3 pb-3 max-lg:max-h-[calc(100dvh-4rem)] lg:flex ${open ? 'flex' : 'hidden'}`}
        >
          <CommandPalette />
          <Navigation />
          <div className="mt-auto pt-4">
            <AccountMenu />
          </div>
        </div>
      </aside>
      <main id="content" tabIndex={-1} className="min-w-0 px-4 py-5 outline-none sm:px-6 lg:px-8 lg:py-7">
        <div className="mx-auto max-w-6xl">
          {project ? (
            <Outlet />
          ) : (
            <EmptyState isPage icon="alert" title="There is no such project">
              It was archived, or you are not a member of it. Choose another project in the menu at the top
              left.
            </EmptyState>
          )}
        </div>
      </main>
      <SessionEnded />
    </div>
  )
}

const Navigation = () => {
  const projectId = useProjectId()
  const role = useProject()?.role
  return (
    <nav aria-label="Pages" className="flex flex-col gap-0.5">
      {PAGES.map(({ title, to, icon }) => (
        <Link
          key={title}
          to={to}
          params={{ projectId }}
          activeOptions={{ exact: to === '/p/$projectId', includeSearch: false }}
          className="flex items-center gap-2.5 rounded-lg px-2.5 py-1.5 font-medium text-muted hover:bg-subtle hover:text-text"
          activeProps={{ className: '!bg-accent-soft !text-accent-text' }}
        >
          <Icon name={icon} className="size-[1.1rem]" />
          {title}
        </Link>
      ))}
      {role === 'viewer' && (
        <p className="mt-3 px-2.5 text-muted">
          <Badge>viewer</Badge> You may look at everything here and change nothing.
        </p>
      )}
    </nav>
  )
}
