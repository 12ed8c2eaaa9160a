import type { ReactNode } from 'react'
import { useMay } from '../api/session.ts'
import { PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'

const TABS = [
  { to: '/p/$projectId/settings', title: 'Project', exact: true, admin: false },
  { to: '/p/$projectId/settings/conversions', title: 'Conversions', exact: false, admin: false },
  { to: '/p/$projectId/settings/keys', title: 'API keys', exact: false, admin: true },
  { to: '/p/$projectId/settings/members', title: 'Members', exact: false, admin: true },
  { to: '/p/$projectId/settings/audit', title: 'Audit log', exact: false, admin: true },
  { to: '/p/$projectId/settings/account', title: 'Account', exact: false, admin: false },
] as const

export const SettingsHeader = ({ actions }: { actions?: ReactNode }) => {
  const isAdmin = useMay('admin')
  return (
    <>
      <PageHeader title="Settings" actions={actions} />
      <PageTabs label="Settings" tabs={TABS.filter(({ admin }) => isAdmin || !admin)} />
    </>
  )
}
