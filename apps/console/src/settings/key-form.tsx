import { Checkbox } from '@base-ui/react/checkbox'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { ApiKeyScope } from '../api/types.ts'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT, Select } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'

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
          ['pub', 'Browsers, where everybody can read it'],
        ]}
      />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 font-medium">What it may do</legend>
        {offered.map(([scope, text]) => (
          // biome-ignore lint/a11y/noLabelWithoutControl: the check box within is one
          <label key={scope} className="flex items-center gap-2.5">
            <Checkbox.Root
              checked={scopes.includes(scope)}
              onCheckedChange={(checked) =>
                setScopes(checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
              }
              className="grid size-5 shrink-0 place-items-center rounded-md border border-line-strong bg-surface data-checked:border-accent data-checked:bg-accent"
            >
              <Checkbox.Indicator className="text-on-accent">
                <Icon name="check" className="size-3.5" />
              </Checkbox.Indicator>
            </Checkbox.Root>
            <span>
              {text} <code className="font-mono text-muted">{scope}</code>
            </span>
          </label>
        ))}
      </fieldset>
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
