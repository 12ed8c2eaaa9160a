import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProject, useProjectId } from '../api/session.ts'
import type { Settings } from '../api/types.ts'
import { For } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { Form, Input, Select, Switch } from '../ui/form.tsx'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'
import { ApprovalsCard } from './approvals.tsx'
import { Environments } from './environments.tsx'
import { SettingsHeader } from './header.tsx'
import { IdentitySecret } from './identity-secret.tsx'
import { VALIDATION_MODES } from './validation-modes.ts'

/** The name and the settings of the project. */
export const ProjectSettings = () => {
  const projectId = useProjectId()
  const project = useProject()
  const isAdmin = useMay('admin')
  const navigate = useNavigate()
  const path = { projectId }
  const settings = useQuery({
    queryKey: [projectId, 'settings'],
    queryFn: (): Promise<Settings> =>
      unwrap(api.GET('/api/projects/{projectId}/settings', { params: { path } })),
  })
  const rename = useChange(
    (name: string) => unwrap(api.PATCH('/api/projects/{projectId}', { params: { path }, body: { name } })),
    { done: 'Project renamed', quiet: true },
  )
  const archive = async () => {
    await unwrap(api.DELETE('/api/projects/{projectId}', { params: { path } }))
    await goToOther()
  }
  const leave = async () => {
    await unwrap(api.DELETE('/api/projects/{projectId}/members/me', { params: { path } }))
    await goToOther()
  }
  const goToOther = async () => {
    localStorage.removeItem('project')
    location.assign('/console/')
    await navigate({ to: '/' })
  }
  return (
    <>
      <SettingsHeader />
      <div className="grid items-start gap-4 lg:grid-cols-2 lg:grid-rows-[auto_auto_auto_auto_1fr]">
        <Card title="Project" padded>
          {isAdmin ? (
            <Form
              submit="Rename"
              busy={rename.isPending}
              error={rename.error}
              names={['name']}
              onSubmit={({ name = '' }) => rename.mutate(name)}
            >
              <Input label="Name" name="name" required maxLength={200} defaultValue={project?.name} />
            </Form>
          ) : (
            <Facts rows={[['Name', project?.name]]} />
          )}
          <div className="mt-4">
            <Facts
              rows={[
                [
                  'Project id',
                  <code key="id" className="font-mono">
                    {projectId}
                  </code>,
                ],
                ['Your role', project?.role],
              ]}
            />
          </div>
        </Card>
        <Card title="Events and privacy" padded className="lg:row-span-5">
          {settings.isLoadingError ? (
            <ErrorState error={settings.error} retry={() => void settings.refetch()} />
          ) : settings.data ? (
            <SettingsForm settings={settings.data} />
          ) : (
            // About as high as the form, so that the cards below do not move.
            <SkeletonLines lines={24} />
          )}
        </Card>
        <For atLeast="admin">
          <IdentitySecret />
          <Environments />
          {settings.data && <ApprovalsCard settings={settings.data} />}
        </For>
        <Card title="Leave this project" description="Its other members keep it." padded>
          <ConfirmButton
            label="Leave project"
            title={`Leave ${project?.name}?`}
            confirm="Leave project"
            onConfirm={leave}
          >
            You can no longer open it until someone invites you again. Its last owner cannot leave it.
          </ConfirmButton>
        </Card>
        <For atLeast="owner">
          <Card title="Archive this project" description="Its keys stop working, and its links end." padded>
            <ConfirmButton
              label="Archive project"
              title={`Archive ${project?.name}?`}
              confirm="Archive project"
              onConfirm={archive}
            >
              It takes no more events and can no longer be opened.
            </ConfirmButton>
          </Card>
        </For>
      </div>
    </>
  )
}

/** The settings of the form, with the defaults of those that are not set. */
const withDefaults = ({
  ingestValidation,
  ipStorage = 'truncate',
  retentionDays,
  deduplicationDays,
  identityVerification = 'optional',
  identifyEvents = false,
  archiveEvents = false,
  staleMails = true,
  deniedTraits = [],
}: Settings) => ({
  ingestValidation: {
    mode: ingestValidation?.mode ?? 'warn',
    rejectUnknownEvents: ingestValidation?.rejectUnknownEvents ?? false,
  },
  ipStorage,
  retentionDays: retentionDays ?? null,
  deduplicationDays: deduplicationDays ?? null,
  identityVerification,
  identifyEvents,
  archiveEvents,
  staleMails,
  deniedTraits,
})
type FormSettings = ReturnType<typeof withDefaults>

/** Keeps what is typed when the settings are read again, and saves only what the user has changed. */
const SettingsForm = ({ settings: read }: { settings: Settings }) => {
  const projectId = useProjectId()
  const isAdmin = useMay('admin')
  const [settings] = useState(() => withDefaults(read))
  const saved = useRef(settings)
  const [rejectUnknown, setRejectUnknown] = useState(settings.ingestValidation.rejectUnknownEvents)
  const [verify, setVerify] = useState(settings.identityVerification === 'required')
  const [identifyEvents, setIdentifyEvents] = useState(settings.identifyEvents)
  const [archiveEvents, setArchiveEvents] = useState(settings.archiveEvents)
  const [staleMails, setStaleMails] = useState(settings.staleMails)
  const save = useChange(
    async (next: FormSettings) => {
      const changed = Object.entries(next).filter(
        ([name, value]) =>
          JSON.stringify(value) !== JSON.stringify(saved.current[name as keyof FormSettings]),
      )
      await unwrap(
        api.PATCH('/api/projects/{projectId}/settings', {
          params: { path: { projectId } },
          body: Object.fromEntries(changed),
        }),
      )
      saved.current = next
    },
    { done: 'Settings saved', quiet: true },
  )
  const submit = (values: Record<string, string>) =>
    save.mutate({
      ingestValidation: {
        mode: VALIDATION_MODES.find(([mode]) => mode === values.mode)?.[0] ?? 'warn',
        rejectUnknownEvents: rejectUnknown,
      },
      ipStorage: values.ip === 'keep' || values.ip === 'drop' ? values.ip : 'truncate',
      retentionDays: values.retentionDays ? Number(values.retentionDays) : null,
      deduplicationDays: values.deduplicationDays ? Number(values.deduplicationDays) : null,
      identityVerification: verify ? 'required' : 'optional',
      identifyEvents,
      archiveEvents,
      staleMails,
      deniedTraits: (values.deniedTraits ?? '')
        .split(',')
        .map((name) => name.trim())
        .filter(Boolean),
    })
  return (
    <fieldset disabled={!isAdmin}>
      <Form
        submit={isAdmin ? 'Save settings' : undefined}
        busy={save.isPending}
        error={save.error}
        names={['deniedTraits', 'retentionDays', 'deduplicationDays']}
        onSubmit={submit}
      >
        {!isAdmin && <p className="text-muted">Only admins may change these.</p>}
        <Select
          label="Checking events against the catalog"
          name="mode"
          defaultValue={settings.ingestValidation.mode}
          options={VALIDATION_MODES}
          hint="Of events that do not fit their schema."
        />
        <Switch
          label="Turn away events that the catalog does not know"
          hint="Counts in the mode “enforce” only."
          checked={rejectUnknown}
          onChange={setRejectUnknown}
          disabled={!isAdmin}
        />
        <Select
          label="IP addresses"
          name="ip"
          defaultValue={settings.ipStorage}
          options={[
            ['truncate', 'Shorten before storing'],
            ['keep', 'Store as they are'],
            ['drop', 'Store none'],
          ]}
        />
        <Input
          label="Days to keep events"
          name="retentionDays"
          type="number"
          min={1}
          max={3650}
          placeholder="Forever"
          hint="Older events are deleted within a day and do not come back. Left empty, all are kept."
          defaultValue={settings.retentionDays ?? ''}
        />
        <Input
          label="Days to remember event ids"
          name="deduplicationDays"
          type="number"
          min={30}
          max={3650}
          placeholder="Forever"
          hint="An event that is sent again with a remembered id is not stored again. After this time it is a new event. Left empty, no id is forgotten."
          defaultValue={settings.deduplicationDays ?? ''}
        />
        <Switch
          label="Archive events"
          hint="Writes them to files, hour by hour, where the operator has set up an archive."
          checked={archiveEvents}
          onChange={setArchiveEvents}
          disabled={!isAdmin}
        />
        <Input
          label="Traits never to store"
          name="deniedTraits"
          placeholder="birthday, phone"
          defaultValue={settings.deniedTraits.join(', ')}
        />
        <Switch
          label="Browsers must prove user ids"
          hint="With a hash that your server computes."
          checked={verify}
          onChange={setVerify}
          disabled={!isAdmin}
        />
        <Switch
          label="Store an event for each identify call of an SDK"
          hint="Of Segment's and RudderStack's libraries."
          checked={identifyEvents}
          onChange={setIdentifyEvents}
          disabled={!isAdmin}
        />
        <Switch
          label="Email about stale decisions"
          hint="Once a week to their owners, while there are any."
          checked={staleMails}
          onChange={setStaleMails}
          disabled={!isAdmin}
        />
      </Form>
    </fieldset>
  )
}
