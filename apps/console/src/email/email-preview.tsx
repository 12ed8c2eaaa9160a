import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, messageOf, unwrap } from '../api/client.ts'
import { useAccount, useProjectId } from '../api/session.ts'
import type { EmailTrigger } from '../api/types.ts'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { useDebounced } from '../ui/debounce.ts'
import { TextArea } from '../ui/form.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { ErrorState, Notice, SkeletonBlock } from '../ui/states.tsx'

const EXAMPLE = JSON.stringify({ traits: { name: 'Ada' }, properties: { plan: 'pro', total: 4990 } }, null, 2)

type Example = { traits?: Record<string, unknown>; properties?: Record<string, unknown> }

/** The example, or what is wrong with its text. */
const read = (text: string): Example & { problem?: string } => {
  try {
    const example: unknown = parseEnteredJson(text, 'The example')
    const isObject = typeof example === 'object' && example !== null && !Array.isArray(example)
    return isObject ? example : { problem: 'The example must be an object with traits and properties.' }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

/** The rendered email. */
export const EmailPreview = ({
  subject,
  html,
  trigger,
}: {
  subject: string
  html: string
  trigger?: EmailTrigger | undefined
}) => {
  const projectId = useProjectId()
  const email = useAccount()?.user.email ?? ''
  const [example, setExample] = useState(EXAMPLE)
  const { traits = {}, properties = {}, problem } = read(useDebounced(example))
  const body = { subject: useDebounced(subject), html: useDebounced(html), traits, properties }
  const preview = useQuery({
    queryKey: [projectId, 'email-preview', body],
    queryFn: () =>
      unwrap(
        api.POST('/api/projects/{projectId}/email-triggers/preview', {
          params: { path: { projectId } },
          body,
        }),
      ),
    enabled: problem === undefined,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
  const sendTest = useChange(
    (id: string) =>
      unwrap(
        api.POST('/api/projects/{projectId}/email-triggers/{id}/test', {
          params: { path: { projectId, id } },
          body: { to: email, traits, properties },
        }),
      ),
    { done: `The saved email was sent to ${email}` },
  )
  return (
    <Card
      title="Preview"
      padded
      className="self-start"
      actions={
        trigger && (
          <For atLeast="editor">
            <Button small icon="email" busy={sendTest.isPending} onClick={() => sendTest.mutate(trigger.id)}>
              Send to me
            </Button>
          </For>
        )
      }
    >
      <div className="flex flex-col gap-4">
        {preview.error ? (
          <ErrorState error={preview.error} retry={() => void preview.refetch()} />
        ) : preview.data ? (
          <>
            <p>
              <span className="text-muted">Subject:</span> <strong>{preview.data.subject}</strong>
            </p>
            <EmailFrame html={preview.data.html} />
          </>
        ) : (
          <SkeletonBlock className="h-72" />
        )}
        <TextArea
          label="Example person and event"
          code
          rows={8}
          value={example}
          onChange={(event) => setExample(event.target.value)}
        />
        {problem && <Notice tone="danger">{problem}</Notice>}
      </div>
    </Card>
  )
}

/** Shows the HTML of an email in a frame with another origin, which cannot access the console. */
const EmailFrame = ({ html }: { html: string }) => {
  const frame = useRef<HTMLIFrameElement>(null)
  const [ready, setReady] = useState(false)
  useEffect(() => {
    const listen = ({ source, data }: MessageEvent) => {
      if (source === frame.current?.contentWindow && data === 'ready') setReady(true)
    }
    addEventListener('message', listen)
    return () => removeEventListener('message', listen)
  }, [])
  useEffect(() => {
    // The frame has an opaque origin, so no narrower target is possible.
    if (ready) frame.current?.contentWindow?.postMessage(html, '*')
  }, [ready, html])
  return (
    <iframe
      ref={frame}
      title="Email"
      sandbox="allow-scripts"
      src="/console/email-frame.html"
      className="h-72 w-full rounded-lg border border-line bg-white"
    />
  )
}
