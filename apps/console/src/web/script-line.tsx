import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import { useFirstKey } from '../home/use-first-key.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Icon } from '../ui/icon.tsx'
import { Notice } from '../ui/states.tsx'

const POLL_MS = 2_000
const PLACEHOLDER = 'KEY'

/** Whether a page view has arrived, asked until one has. */
const useFirstView = () => {
  const projectId = useProjectId()
  return useQuery({
    queryKey: [projectId, 'first-view'],
    queryFn: async () => {
      const { data } = await unwrap(
        api.GET('/api/projects/{projectId}/events', {
          params: { path: { projectId }, query: { eventName: 'page_view', limit: 1 } },
        }),
      )
      return data.length > 0
    },
    refetchInterval: ({ state }) => (state.data ? false : POLL_MS),
  })
}

/** The line for pages with a key of the project, which says when the first page view has arrived. */
export const ScriptLine = () => {
  const { key, create } = useFirstKey()
  const mayCreate = useMay('admin')
  const { data: hasView = false } = useFirstView()
  const line = `<script async src="${location.origin}/w.js" data-key="${key ?? PLACEHOLDER}"></script>`
  return (
    <div className="flex flex-col gap-3 text-left">
      <CodeBlock label="Line for web pages" text={line} />
      {key === null &&
        (mayCreate ? (
          <div>
            <Button look="primary" icon="key" busy={create.isPending} onClick={() => create.mutate()}>
              Create a key for this line
            </Button>
          </div>
        ) : (
          <Notice>Ask an admin of this project for a key of kind pub with the scope events:write.</Notice>
        ))}
      <p role="status" className={`flex items-center gap-2 ${hasView ? 'text-accent-text' : 'text-muted'}`}>
        <Icon name={hasView ? 'check' : 'live'} />
        {hasView ? 'A page view has arrived.' : 'Waiting for the first page view …'}
      </p>
    </div>
  )
}
