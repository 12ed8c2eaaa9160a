import { Card } from '../ui/card.tsx'
import { EmptyState } from '../ui/states.tsx'
import { SettingsHeader } from './header.tsx'

/** Shown to users who are not admins. */
export const AdminsOnlyCard = () => (
  <Card>
    <EmptyState icon="key" title="Only admins see this page">
      Ask an owner of the project for the role admin.
    </EmptyState>
  </Card>
)

export const AdminsOnly = () => (
  <>
    <SettingsHeader />
    <AdminsOnlyCard />
  </>
)

/** Shown to users who are not editors. */
export const EditorsOnly = () => (
  <>
    <SettingsHeader />
    <Card>
      <EmptyState icon="key" title="Only editors see this page">
        Ask an admin of the project for the role editor.
      </EmptyState>
    </Card>
  </>
)
