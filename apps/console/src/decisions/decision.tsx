import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { PageHeader } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { showTab } from '../ui/page-tabs.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { Notice } from '../ui/states.tsx'
import { Backtest } from './backtest.tsx'
import { asIn, statusIn } from './draft.ts'
import { DecisionEditor } from './editor.tsx'
import { EnvironmentSelect, PRODUCTION } from './environment-select.tsx'
import { Experiment } from './experiment.tsx'
import { History } from './history.tsx'
import { Labels } from './labels.tsx'
import { Local } from './local.tsx'
import { Preview } from './preview.tsx'
import { ProposeDialog } from './propose-dialog.tsx'
import { Results } from './results.tsx'
import { Schedule } from './schedule.tsx'
import { Stops } from './stops.tsx'

const VIEWS = ['results', 'rules', 'preview', 'schedule', 'history', 'json'] as const
const ACTIVE = { status: 'active' }
const TITLES = {
  results: 'Results',
  rules: 'Rules and variants',
  preview: 'Preview',
  schedule: 'Schedule',
  history: 'History',
  json: 'JSON',
}

/** One decision. */
export const DecisionPage = () => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const { key } = useParams({ strict: false }) as { key: string }
  const params = { path: { projectId, key } }
  const [search, setSearch] = useUrlState<'view' | 'environment'>()
  const { environment = PRODUCTION } = search
  /** The environments whose rules were open. */
  const [edited, setEdited] = useState([environment])
  if (!edited.includes(environment)) setEdited([...edited, environment])
  const inEnvironment = { params: { ...params, query: { environment } } }
  const read = useQuery({
    queryKey: [projectId, 'decision', key],
    queryFn: async () => {
      const answer = api.GET('/api/projects/{projectId}/decisions/{key}', { params })
      return { decision: await unwrap(answer), etag: (await answer).response.headers.get('ETag') ?? '*' }
    },
  })
  const activate = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/decisions/{key}/activate', inEnvironment)),
    {
      done: 'The decision is active',
      propose: () => ({
        decision: key,
        change: environment === PRODUCTION ? ACTIVE : { environments: { [environment]: ACTIVE } },
      }),
    },
  )
  const pause = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/decisions/{key}/pause', inEnvironment)),
    {
      done: 'The decision is off: everyone gets the fallback within five seconds',
      quiet: true,
    },
  )
  const archive = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/decisions/{key}/archive', { params })),
    {
      done: 'Decision archived',
      quiet: true,
      propose: () => ({ decision: key, change: { status: 'archived' } }),
    },
  )
  const back = { to: '/p/$projectId/decisions', params: { projectId }, label: 'Decisions' } as const
  if (!read.data) return <PageWithoutData title={key} back={back} query={read} />
  const { decision, etag } = read.data
  const { name, version, warnings = [], description } = decision
  const status = statusIn(decision, environment)
  const mayChange = mayEdit && status !== 'archived'
  const views = mayChange ? VIEWS : VIEWS.filter((one) => one !== 'rules')
  const view = views.find((one) => one === search.view) ?? 'results'
  const { rules } = asIn(decision, environment)
  // Resuming asks for a reason.
  const isPausedByGuard = (decision.stops ?? []).some(
    (stop) => stop.environment === environment && stop.action === 'pause',
  )
  return (
    <>
      <PageHeader
        back={back}
        title={name || key}
        description={description ?? (name ? key : undefined)}
        aside={
          <>
            <Status status={status} />
            {environment !== PRODUCTION && <Badge tone="warning">in {environment}</Badge>}
            <Badge>version {version}</Badge>
            <Labels decision={decision} />
          </>
        }
        actions={
          status !== 'archived' && (
            <For atLeast="editor">
              {status === 'active' ? (
                <ConfirmButton
                  label="Turn off"
                  title={`Turn ${name || key} off?`}
                  confirm="Turn off"
                  onConfirm={() => pause.mutateAsync()}
                >
                  Within five seconds everyone gets the fallback variant
                  {environment === PRODUCTION ? '' : ` in ${environment}`}. Activate it to turn it on again.
                </ConfirmButton>
              ) : isPausedByGuard ? null : (
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
                It decides nothing any more, for good, in any environment.
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
      <Stops decision={decision} environment={environment} />
      <div className="mb-4 max-w-xs">
        <EnvironmentSelect
          label="Environment"
          value={environment}
          onChange={(next) => setSearch({ environment: next === PRODUCTION ? '' : next })}
        />
      </div>
      <Local decision={decision} environment={environment} />
      <nav aria-label="Decision" className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {views.map((one) => (
          <button
            key={one}
            ref={one === view ? showTab : undefined}
            type="button"
            aria-current={one === view ? 'page' : undefined}
            onClick={() => setSearch({ view: one })}
            className={`-mb-px rounded-t-md border-b-2 px-3 py-2 font-medium whitespace-nowrap ${one === view ? 'border-accent text-text' : 'border-transparent text-muted hover:text-text'}`}
          >
            {TITLES[one]}
          </button>
        ))}
      </nav>
      {view === 'results' && (
        <Experiment
          decisionKey={key}
          environment={environment}
          isRunning={rules.some(({ split }) => split)}
        />
      )}
      {view === 'results' && <Results decisionKey={key} environment={environment} />}
      {mayChange &&
        edited.map((one) => (
          // Keeps what was typed while another view or environment is open.
          <div key={`${key} ${one}`} hidden={view !== 'rules' || one !== environment}>
            <DecisionEditor decision={decision} environment={one} onDone={() => undefined} />
          </div>
        ))}
      {view === 'preview' && (
        <>
          <Preview decisionKey={key} environment={environment} version={version} />
          <div className="mt-4">
            <Backtest decisionKey={key} environment={environment} version={`${environment} ${version}`} />
          </div>
        </>
      )}
      {view === 'schedule' && <Schedule decision={decision} environment={environment} />}
      {view === 'history' && (
        <History decisionKey={key} current={version} etag={etag} mayRestore={mayChange} />
      )}
      <ProposeDialog />
      {view === 'json' && <Json label="The decision as JSON" value={decision} />}
    </>
  )
}
