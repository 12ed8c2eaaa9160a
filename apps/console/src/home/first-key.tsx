import { useMay } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Notice } from '../ui/states.tsx'
import { ScriptLine } from '../web/script-line.tsx'
import { sdkLines } from './sdk-lines.ts'
import { useFirstKey } from './use-first-key.ts'

const PLACEHOLDER = '<key with the scope events:write>'

// Queries leave out bots, and curl counts as one. An event without a user agent does not.
const command = (key: string): string => `curl -A '' '${location.origin}/api/v1/t?sync=1' \\
  -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' \\
  -d '{"eventName":"signed_up","visitorId":"visitor-1","properties":{"plan":"free"}}'`

/** A command that sends an event, and code for SDKs, with a new key of the project. */
export const FirstEvent = () => {
  const mayCreate = useMay('admin')
  const { key, create } = useFirstKey()
  return (
    <div className="flex flex-col gap-3 text-left">
      <CodeBlock label="Command that sends an event" text={command(key ?? PLACEHOLDER)} />
      <details>
        <summary>Or from a web page</summary>
        <ScriptLine />
      </details>
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
