import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { ErrorState, Notice, SkeletonLines } from '../ui/states.tsx'
import { DecisionEditor } from './editor.tsx'
import { Experiment } from './experiment.tsx'
import { History } from './history.tsx'
import { Preview } from './preview.tsx'
import { Results } from './results.tsx'

const VIEWS = ['results', 'rules', 'preview', 'history', 'json'] as const
const TITLES = {
  results: 'Results',
  rules: 'Rules and variants',
  preview: 'Preview',
  history: 'History',
  json: 'JSON',
}

/** One decision. */
export const DecisionPage = () => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const { key } = useParams({ strict: false }) as { key: string }
  const params = { path: { projectId, key } }
  const [search, setSearch] = useUrlState<'view'>()
  const views = mayEdit ? VIEWS : VIEWS.filter((one) => one !== 'rules')
  const view = views.find((one) => one === search.view) ?? 'results'
  const decision = useQuery({
    queryKey: [projectId, 'decision', key],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/decisions/{key}', { params })),
  })
  const activate = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/decisions/{key}/activate', { params })),
    {
      done: 'The decision is active',
    },
  )
  const pause = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/decisions/{key}/pause', { params })),
    {
      done: 'The decision is paused; everyone gets the fallback',
    },
  )
  const archive = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/decisions/{key}/archive', { params })),
    {
      done: 'Decision archived',
      quiet: true,
    },
  )
  if (decision.isLoadingError)
    return (
      <Card>
        <ErrorState error={decision.error} retry={() => void decision.refetch()} />
      </Card>
    )
  if (!decision.data)
    return (
      <Card>
        <SkeletonLines lines={8} />
      </Card>
    )
  const { name, status, version, warnings = [], description, rules } = decision.data
  return (
    <>
      <PageHeader
        back={{ to: '/p/$projectId/decisions', params: { projectId }, label: 'Decisions' }}
        title={name || key}
        description={description ?? (name ? key : undefined)}
        aside={
          <>
            <Status status={status} />
            <Badge>version {version}</Badge>
          </>
        }
        actions={
          status !== 'archived' && (
            <For atLeast="editor">
              {status === 'active' ? (
                <Button icon="pause" busy={pause.isPending} onClick={() => pause.mutate()}>
                  Pause
                </Button>
              ) : (
                <Button
                  look="primary"
                  icon="play"
                  busy={activate.isPending}
                  onClick={() => activate.mutate()}
                >
                  Activate
                </Button>
              )}
              <ConfirmButton
                label="Archive"
                title={`Archive ${name || key}?`}
                confirm="Archive"
                onConfirm={() => archive.mutateAsync()}
              >
                It decides nothing any more, for good.
              </ConfirmButton>
            </For>
          )
        }
      />
      {warnings.map(({ code, message }) => (
        <div key={code} className="mb-4">
          <Notice tone="warning">{message}</Notice>
        </div>
      ))}
      <nav aria-label="Decision" className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {views.map((one) => (
          <button
            key={one}
            type="button"
            aria-current={one === view ? 'page' : undefined}
            onClick={() => setSearch({ view: one })}
            className={`-mb-px rounded-t-md border-b-2 px-3 py-2 font-medium whitespace-nowrap ${one === view ? 'border-accent text-text' : 'border-transparent text-muted hover:text-text'}`}
          >
            {TITLES[one]}
          </button>
        ))}
      </nav>
      {view === 'results' && rules.some(({ split }) => split) && <Experiment decisionKey={key} />}
      {view === 'results' && <Results decisionKey={key} />}
      {view === 'rules' && <DecisionEditor key={key} decision={decision.data} onDone={() => undefined} />}
      {view === 'preview' && <Preview decisionKey={key} />}
      {view === 'history' && <History decisionKey={key} current={version} />}
      {view === 'json' && <Json label="The decision as JSON" value={decision.data} />}
    </>
  )
}
