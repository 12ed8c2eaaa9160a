import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { ErrorState, SkeletonBlock } from '../ui/states.tsx'

/** The secret by which servers prove user ids, for admins. */
export const IdentitySecret = () => {
  const projectId = useProjectId()
  const params = { path: { projectId } }
  const [shown, setShown] = useState(false)
  const secret = useQuery({
    queryKey: [projectId, 'identity-secret'],
    enabled: shown,
    // Not kept once it is hidden.
    gcTime: 0,
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/identity-secret', { params })),
  })
  const rotate = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/identity-secret/rotate', { params })),
    { quiet: true, done: 'The secret was replaced', onDone: () => setShown(true) },
  )
  return (
    <Card
      title="Secret of user hashes"
      description="Your server computes the userHash of a user with it: the HMAC-SHA-256 of the user id, as hex."
      padded
    >
      <div className="flex flex-col gap-3">
        {shown &&
          (secret.error ? (
            <ErrorState error={secret.error} retry={() => void secret.refetch()} />
          ) : secret.data ? (
            <CodeBlock label="Secret of user hashes" text={secret.data.secret} />
          ) : (
            <SkeletonBlock className="h-12" />
          ))}
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => setShown(!shown)}>{shown ? 'Hide the secret' : 'Show the secret'}</Button>
          <ConfirmButton
            label="Rotate"
            title="Replace the secret of user hashes?"
            confirm="Replace the secret"
            onConfirm={() => rotate.mutateAsync()}
          >
            Hashes of the old secret are refused within five seconds.
          </ConfirmButton>
        </div>
      </div>
    </Card>
  )
}
