import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useProjectId } from '../api/session.ts'
import { rowLinkClass } from '../ui/table.tsx'

/** A link to the page of a person. */
export const PersonLink = ({ id, children }: { id: string; children: ReactNode }) => {
  const projectId = useProjectId()
  return (
    <Link
      to="/p/$projectId/people/$id"
      params={{ projectId, id }}
      className={`block max-w-64 truncate ${rowLinkClass}`}
    >
      {children}
    </Link>
  )
}
