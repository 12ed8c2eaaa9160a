import { Status } from './badge.tsx'
import { Time } from './format.tsx'
import type { Column } from './table.tsx'

/** The column of a status. */
export const statusColumn: Column<{ status: string }> = {
  title: 'Status',
  cell: ({ status }) => <Status status={status} />,
  sort: ({ status }) => status,
}

/** The column of the last change. */
export const changedColumn: Column<{ updatedAt: string }> = {
  title: 'Changed',
  align: 'right',
  wide: true,
  cell: ({ updatedAt }) => <Time at={updatedAt} as="ago" />,
  sort: ({ updatedAt }) => updatedAt,
}
