import type { ReactNode } from 'react'
import { roleAllows, useProject } from '../api/session.ts'
import { PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'

const TABS = [
  { to: '/p/$projectId/settings', title: 'Project', exact: true, atLeast: 'viewer' },
  { to: '/p/$projectId/settings/conversions', title: 'Conversions', exact: false, atLeast: 'viewer' },
  { to: '/p/$projectId/settings/webhooks', title: 'Webhooks', exact: false, atLeast: 'editor' },
  { to: '/p/$projectId/settings/keys', title: 'API keys', exact: false, atLeast: 'admin' },
  { to: '/p/$projectId/settings/members', title: 'Members', exact: false, atLeast: 'admin' },
  { to: '/p/$projectId/settings/audit', title: 'Audit log', exact: false, atLeast: 'admin' },
  { to: '/p/$projectId/settings/single-sign-on', title: 'Single sign-on', exact: false, atLeast: 'owner' },
  { to: '/p/$projectId/settings/account', title: 'Account', exact: false, atLeast: 'viewer' },
] as const

export const SettingsHeader = ({ actions }: { actions?: ReactNode }) => {
  const role = useProject()?.role
  return (
    <>
      <PageHeader title="Settings" actions={actions} />
      <PageTabs
        label="Settings"
        tabs={TABS.filter(({ atLeast }) => atLeast === 'viewer' || roleAllows(role, atLeast))}
      />
    </>
  )
}
