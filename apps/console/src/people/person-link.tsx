import { Link } from '@tanstack/react-router'
import { useProjectId } from '../api/session.ts'
import { rowLinkClass } from '../ui/table.tsx'

/** A link to the page of a person. */
export const PersonLink = ({ id, children: name }: { id: string; children: string }) => {
  const projectId = useProjectId()
  return (
    <Link
      to="/p/$projectId/people/$id"
      params={{ projectId, id }}
      title={name}
      className={`block max-w-[min(16rem,40cqw)] truncate ${rowLinkClass}`}
    >
      {name}
    </Link>
  )
}
