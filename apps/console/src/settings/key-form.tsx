import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { ApiKey, ApiKeyScope } from '../api/types.ts'
import { EnvironmentSelect, PRODUCTION } from '../decisions/environment-select.tsx'
import { Checkboxes } from '../ui/checkboxes.tsx'
import { editedTime, Form, Input, LOCAL_TIME_HINT, Select, toLocalInput } from '../ui/form.tsx'
import { VALIDATION_MODES } from './validation-modes.ts'

const SCOPES: readonly (readonly [ApiKeyScope, string, forBrowsers: boolean])[] = [
  ['events:write', 'Send events, identify people', true],
  ['decide', 'Ask for decisions', true],
  ['coupons:read', 'Look coupons up', true],
  ['coupons:redeem', 'Redeem coupons', true],
  ['events:backfill', 'Send events of the past', false],
  ['links:read', 'Read links', false],
  ['tenant:read', 'Read the tenant', false],
  ['manage:read', 'Read like a viewer', false],
  ['manage:write', 'Change like an editor', false],
  ['manage:admin', 'Everything an admin may', false],
]

/** Enough for the requests of a server, which all come from one address and would share the limit of one visitor. */
const SERVER_REQUESTS_PER_MINUTE = 6_000

/** Creates a key, or changes one. */
export const KeyForm = ({
  apiKey,
  onDone,
  onCancel,
}: {
  apiKey?: ApiKey
  /** Receives the key itself when it is new. */
  onDone: (saved: { key?: string }) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const [kind, setKind] = useState<'pub' | 'sec'>(apiKey?.kind ?? 'sec')
  const [environment, setEnvironment] = useState(PRODUCTION)
  const [scopes, setScopes] = useState<readonly ApiKeyScope[]>(apiKey?.scopes ?? ['events:write'])
  const offered = SCOPES.filter(([, , forBrowsers]) => kind === 'sec' || forBrowsers)
  const save = useChange(
    async (values: Record<string, string>): Promise<{ key?: string }> => {
      const expiresAt = editedTime(values.expiresAt, apiKey?.expiresAt)
      const body = {
        name: values.name ?? '',
        scopes: offered.flatMap(([scope]) => (scopes.includes(scope) ? [scope] : [])),
        validationMode: VALIDATION_MODES.find(([mode]) => mode === values.mode)?.[0] ?? null,
        ...(kind === 'pub'
          ? { allowedOrigins: (values.origins ?? '').split(/[\s,]+/).filter(Boolean) }
          : { requestsPerMinute: values.requestsPerMinute ? Number(values.requestsPerMinute) : null }),
        // A time in the past is refused, also one that a key had before.
        ...(expiresAt !== (apiKey?.expiresAt ?? null) && { expiresAt }),
      }
      if (!apiKey)
        return unwrap(
          api.POST('/api/projects/{projectId}/api-keys', {
            params: { path: { projectId } },
            body: { ...body, kind, environment },
          }),
        )
      await unwrap(
        api.PATCH('/api/projects/{projectId}/api-keys/{id}', {
          params: { path: { projectId, id: apiKey.id } },
          body,
        }),
      )
      return {}
    },
    { quiet: true, onDone, ...(apiKey && { done: 'Saved. The change applies within five seconds.' }) },
  )
  return (
    <Form
      submit={apiKey ? 'Save' : 'Create key'}
      busy={save.isPending}
      error={save.error}
      names={['name', 'requestsPerMinute', 'expiresAt']}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <Input
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder="Checkout server"
        defaultValue={apiKey?.name}
      />
      {!apiKey && (
        <Select
          label="Who uses it"
          value={kind}
          onChange={(event) => setKind(event.target.value === 'pub' ? 'pub' : 'sec')}
          options={[
            ['sec', 'A server, which keeps it secret'],
            ['pub', 'Browsers, where everyone can read it'],
          ]}
        />
      )}
      {!apiKey && (
        <EnvironmentSelect
          label="Environment"
          hint="Whose rules it gets from decisions."
          value={environment}
          onChange={setEnvironment}
        />
      )}
      <Checkboxes
        label="What it may do"
        options={offered.map(([scope, text]) => [scope, text] as const)}
        value={scopes}
        onChange={setScopes}
      />
      <Select
        label="Checking its events against the catalog"
        name="mode"
        defaultValue={apiKey?.validationMode ?? ''}
        options={[['', 'As the settings of the project say'], ...VALIDATION_MODES]}
      />
      {kind === 'pub' ? (
        <Input
          label="Web sites that may use it"
          name="origins"
          placeholder="https://shop.example"
          hint="Also https://*.shop.example and origins of apps such as capacitor://localhost. Left empty, any site may."
          defaultValue={apiKey?.allowedOrigins.join(', ')}
        />
      ) : (
        <Input
          label="Requests a minute at most"
          name="requestsPerMinute"
          type="number"
          min={1}
          max={10_000_000}
          hint="Decisions, redemptions and profile writes, each counted on its own. Left empty, the limits of the project and of each address apply."
          defaultValue={apiKey ? (apiKey.requestsPerMinute ?? '') : SERVER_REQUESTS_PER_MINUTE}
        />
      )}
      <Input
        label="Expires"
        name="expiresAt"
        type="datetime-local"
        hint={LOCAL_TIME_HINT}
        defaultValue={toLocalInput(apiKey?.expiresAt)}
      />
    </Form>
  )
}
