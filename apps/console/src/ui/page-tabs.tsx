import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { PagePath } from './page-path.ts'

/** Scrolls to the open tab, which may be outside of the visible area on a narrow screen. */
export const showTab = (tab: Element | null | undefined): void => {
  // Not returned: newer browsers answer with a promise, which React would take for a clean-up function.
  tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

/** Links between the parts of a page. */
export const PageTabs = ({
  label,
  tabs,
}: {
  label: string
  tabs: readonly { to: PagePath; title: string; exact?: boolean }[]
}) => {
  const nav = useRef<HTMLElement>(null)
  useEffect(() => showTab(nav.current?.querySelector('[aria-current=page]')), [])
  return (
    <nav ref={nav} aria-label={label} className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
      {tabs.map(({ to, title, exact = false }) => (
        <Link
          key={title}
          to={to}
          params={true as never}
          activeOptions={{ exact }}
          className="-mb-px rounded-t-md border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-muted hover:text-text"
          activeProps={{ className: '!border-accent !text-text' }}
        >
          {title}
        </Link>
      ))}
    </nav>
  )
}
