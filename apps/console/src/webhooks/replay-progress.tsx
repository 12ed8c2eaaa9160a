import { useQuery } from '@tanstack/react-query'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { formatNumber, Time } from '../ui/format.tsx'
import { Notice } from '../ui/states.tsx'

/** The latest replay of a webhook: how far it is, and a button that cancels it. */
export const ReplayProgress = ({ webhookId }: { webhookId: string }) => {
  const projectId = useProjectId()
  const params = { path: { projectId, id: webhookId } }
  const latest = useQuery({
    queryKey: [projectId, 'webhook-replay', webhookId],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/webhooks/{id}/replay', { params })),
    refetchInterval: 5_000,
  })
  const cancel = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/webhooks/{id}/replay', { params })),
    { done: 'The replay was canceled' },
  )
  const replay = latest.data?.replay
  if (!replay) return null
  const { state, queued, reachedAt, to } = replay
  return (
    <div className="px-4 pb-4">
      <Notice tone={state === 'limited' ? 'warning' : 'info'}>
        <span className="flex flex-wrap items-center justify-between gap-3">
          <span>
            {TITLES[state]} Deliveries sent again: {formatNumber(queued)}
            {state === 'finished' ? (
              '.'
            ) : (
              <>
                , up to <Time at={reachedAt} /> of <Time at={to} />.
              </>
            )}
          </span>
          {state === 'running' && (
            <Button small busy={cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel replay
            </Button>
          )}
        </span>
      </Notice>
    </div>
  )
}

const TITLES = {
  running: 'A replay is running.',
  finished: 'The last replay has finished.',
  limited: 'The last replay ended at its limit: start another for the rest.',
  canceled: 'The last replay was canceled.',
} as const
