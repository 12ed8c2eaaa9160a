import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { ApiKeyScope } from '../api/types.ts'
import { Checkboxes } from '../ui/checkboxes.tsx'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT, Select } from '../ui/form.tsx'

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

/** Creates a key. */
export const KeyForm = ({ onDone, onCancel }: { onDone: (key: string) => void; onCancel: () => void }) => {
  const projectId = useProjectId()
  const [kind, setKind] = useState<'pub' | 'sec'>('sec')
  const [scopes, setScopes] = useState<readonly ApiKeyScope[]>(['events:write'])
  const offered = SCOPES.filter(([, , forBrowsers]) => kind === 'sec' || forBrowsers)
  const create = useChange(
    ({ name = '', origins = '', expiresAt }: Record<string, string>) => {
      const allowedOrigins = origins.split(/[\s,]+/).filter(Boolean)
      return unwrap(
        api.POST('/api/projects/{projectId}/api-keys', {
          params: { path: { projectId } },
          body: {
            name,
            kind,
            scopes: offered.flatMap(([scope]) => (scopes.includes(scope) ? [scope] : [])),
            ...(kind === 'pub' && allowedOrigins.length > 0 && { allowedOrigins }),
            expiresAt: fromLocalInput(expiresAt),
          },
        }),
      )
    },
    { quiet: true, onDone: ({ key }) => onDone(key) },
  )
  return (
    <Form
      submit="Create key"
      busy={create.isPending}
      error={create.error}
      names={['name']}
      onCancel={onCancel}
      onSubmit={(values) => create.mutate(values)}
    >
      <Input label="Name" name="name" required maxLength={200} placeholder="Checkout server" />
      <Select
        label="Who uses it"
        value={kind}
        onChange={(event) => setKind(event.target.value === 'pub' ? 'pub' : 'sec')}
        options={[
          ['sec', 'A server, which keeps it secret'],
          ['pub', 'Browsers, where everyone can read it'],
        ]}
      />
      <Checkboxes
        label="What it may do"
        options={offered.map(([scope, text]) => [scope, text] as const)}
        value={scopes}
        onChange={setScopes}
      />
      {kind === 'pub' && (
        <Input
          label="Web sites that may use it"
          name="origins"
          placeholder="https://shop.example"
          hint="Left empty, any site may."
        />
      )}
      <Input label="Expires" name="expiresAt" type="datetime-local" hint={LOCAL_TIME_HINT} />
    </Form>
  )
}
