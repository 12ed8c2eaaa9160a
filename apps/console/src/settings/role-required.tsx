import type { Role } from '../api/types.ts'
import { Card } from '../ui/card.tsx'
import { EmptyState } from '../ui/states.tsx'
import { SettingsHeader } from './header.tsx'

/** Shown in place of a page that needs a role. */
export const RoleRequired = ({ needed }: { needed: Exclude<Role, 'viewer'> }) => (
  <Card>
    <EmptyState icon="key" title={`Only ${needed}s see this page`}>
      {needed === 'editor' ? 'Ask an admin' : 'Ask an owner'} of the project for the role {needed}.
    </EmptyState>
  </Card>
)

export const AdminsOnly = () => (
  <>
    <SettingsHeader />
    <RoleRequired needed="admin" />
  </>
)

export const EditorsOnly = () => (
  <>
    <SettingsHeader />
    <RoleRequired needed="editor" />
  </>
)
