import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Notice } from '../ui/states.tsx'
import { sdkLines } from './sdk-lines.ts'

const PLACEHOLDER = '<key with the scope events:write>'
const nameOf = (projectId: string) => `first-key:${projectId}`

// Queries leave out bots, and curl counts as one. An event without a user agent does not.
const command = (key: string): string => `curl -A '' '${location.origin}/api/v1/t?sync=1' \\
  -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' \\
  -d '{"eventName":"signed_up","visitorId":"visitor-1","properties":{"plan":"free"}}'`

/** A command that sends an event, and code for SDKs, with a new key of the project. */
export const FirstEvent = () => {
  const projectId = useProjectId()
  const mayCreate = useMay('admin')
  // Kept until this tab is closed, because the API returns a key only once.
  const [key, setKey] = useState(() => sessionStorage.getItem(nameOf(projectId)))
  const create = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/api-keys', {
          params: { path: { projectId } },
          body: { name: 'First steps', kind: 'pub', scopes: ['events:write'] },
        }),
      ),
    {
      onDone: (made) => {
        sessionStorage.setItem(nameOf(projectId), made.key)
        setKey(made.key)
      },
    },
  )
  return (
    <div className="flex flex-col gap-3 text-left">
      <CodeBlock label="Command that sends an event" text={command(key ?? PLACEHOLDER)} />
      <details>
        <summary>Or with an SDK of Segment or RudderStack</summary>
        <CodeBlock label="Lines for SDKs" text={sdkLines(key ?? PLACEHOLDER, location.origin)} />
      </details>
      {key === null &&
        (mayCreate ? (
          <div>
            <Button look="primary" icon="key" busy={create.isPending} onClick={() => create.mutate()}>
              Create a key for this command
            </Button>
          </div>
        ) : (
          <Notice>Ask an admin of this project for a key with the scope events:write.</Notice>
        ))}
    </div>
  )
}
