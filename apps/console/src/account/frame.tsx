import type { ReactNode } from 'react'
import { Logo } from '../shell/logo.tsx'
import { usePageTitle } from '../ui/page-title.ts'

/** The page around sign-in and sign-up. */
export const AccountFrame = ({
  title,
  children,
  foot,
}: {
  title: string
  children: ReactNode
  foot?: ReactNode
}) => {
  usePageTitle(title)
  return (
    <main className="grid min-h-dvh grid-cols-[minmax(0,1fr)] place-items-center px-4 py-10">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex flex-col items-center gap-3 text-center">
          <Logo className="size-12" />
          <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
        </div>
        <div className="rounded-xl border border-line bg-surface p-5 shadow-card">{children}</div>
        {foot && <div className="mt-4 text-center text-muted">{foot}</div>}
      </div>
    </main>
  )
}

export const linkClass = 'font-medium text-accent-text underline underline-offset-2 hover:no-underline'
