import { useAccount } from '../api/session.ts'
import { Badge } from './badge.tsx'

/** Actors that have no name of their own. */
const WITHOUT_NAME: Partial<Record<string, string>> = { operator: 'Operator', system: 'System' }

/** Who did something: a user by email address or a key by name, or by their id if the reader may not see the name. */
export const ActorName = ({ actor }: { actor: { kind: string; id: string; name: string | null } }) => {
  const user = useAccount()?.user
  const { kind, id } = actor
  const name = WITHOUT_NAME[kind] ?? actor.name ?? (id === user?.id ? user.email : null)
  if (name === null)
    return (
      <>
        {kind} <code className="font-mono text-muted">{id.slice(-12)}</code>
      </>
    )
  return (
    <>
      {name} {kind === 'key' && <Badge>key</Badge>}
    </>
  )
}
