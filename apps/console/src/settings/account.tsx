import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useAccount, useMay } from '../api/session.ts'
import type { Session } from '../api/types.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { Form, Input, Switch } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { AccessTokens } from './access-tokens.tsx'
import { SettingsHeader } from './header.tsx'
import { Identities } from './identities.tsx'
import { SecondFactorCard } from './second-factor.tsx'

/** A browser in a few words, from its user agent. */
const browserOf = (userAgent: string | null): string => {
  const name = /(Firefox|Edg|Chrome|Safari|curl)/.exec(userAgent ?? '')?.[1]
  const system = /(Windows|Mac OS|Android|iPhone|Linux)/.exec(userAgent ?? '')?.[1]
  return [name ?? 'Unknown client', system].filter(Boolean).join(' on ')
}

/** The user, their sessions and their password. */
export const AccountSettings = () => {
  const account = useAccount()
  const mayRename = useMay('admin')
  const sessions = useList<Session>(['sessions'], (cursor) =>
    unwrap(api.GET('/api/auth/sessions', { params: { query: { limit: 50, ...cursor } } })),
  )
  const changePassword = useChange(
    (body: { currentPassword: string; newPassword: string }) =>
      unwrap(api.POST('/api/auth/change-password', { body })),
    { done: 'Password changed', quiet: true },
  )
  const sendVerification = useChange(() => unwrap(api.POST('/api/auth/send-verification')), {
    done: 'An email with a link is on its way',
  })
  const rename = useChange(
    (name: string) =>
      unwrap(
        api.PATCH('/api/tenant/profile', {
          params: { query: account?.tenant ? { tenantId: account.tenant.id } : {} },
          body: { name },
        }),
      ),
    { done: 'Company renamed', quiet: true },
  )
  const isOwner = useMay('owner')
  const requireFactor = useChange(
    (requiresSecondFactor: boolean) =>
      unwrap(
        api.PATCH('/api/tenant/profile', {
          params: { query: account?.tenant ? { tenantId: account.tenant.id } : {} },
          body: { requiresSecondFactor },
        }),
      ),
    {
      done: ({ requiresSecondFactor }) =>
        requiresSecondFactor ? 'Members need a second factor' : 'Members need no second factor',
    },
  )
  const end = useChange(
    (id: string) => unwrap(api.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } })),
    {
      done: 'Signed out there',
      quiet: true,
    },
  )
  const [withTokens, setWithTokens] = useState(false)
  const endOthers = useChange(
    () =>
      unwrap(
        api.DELETE('/api/auth/sessions', {
          params: { query: { accessTokens: withTokens ? 'revoke' : 'keep' } },
        }),
      ),
    { done: 'Signed out everywhere else', quiet: true },
  )
  return (
    <>
      <SettingsHeader />
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card title="Account" padded>
          <Facts
            rows={[
              ['Name', account?.user.name],
              ['Email', account?.user.email],
              [
                'Address confirmed',
                account &&
                  (account.user.emailVerifiedAt ? (
                    <Time key="v" at={account.user.emailVerifiedAt} as="day" />
                  ) : (
                    <Button
                      small
                      key="v"
                      busy={sendVerification.isPending}
                      onClick={() => sendVerification.mutate()}
                    >
                      Send a link
                    </Button>
                  )),
              ],
              ['Since', account && <Time key="s" at={account.user.createdAt} as="day" />],
            ]}
          />
        </Card>
        {account?.tenant && (
          <Card title="Company" padded>
            {mayRename ? (
              <Form
                submit="Rename company"
                busy={rename.isPending}
                error={rename.error}
                names={['name']}
                onSubmit={({ name = '' }) => rename.mutate(name)}
              >
                <Input
                  label="Company name"
                  name="name"
                  required
                  maxLength={200}
                  defaultValue={account.tenant.name}
                />
              </Form>
            ) : (
              <Facts rows={[['Name', account.tenant.name]]} />
            )}
            <div className="mt-4">
              <Switch
                label="Require a second factor"
                hint={
                  account.user.hasSecondFactor
                    ? 'Members without one get only the page that sets it up.'
                    : 'Set up your own first.'
                }
                checked={account.tenant.requiresSecondFactor}
                disabled={!isOwner || !account.user.hasSecondFactor}
                busy={requireFactor.isPending}
                onChange={(required) => requireFactor.mutate(required)}
              />
            </div>
          </Card>
        )}
        <Card title="Password" padded>
          <Form
            submit="Change password"
            busy={changePassword.isPending}
            error={changePassword.error}
            names={['currentPassword', 'newPassword']}
            onSubmit={({ currentPassword = '', newPassword = '' }) =>
              changePassword.mutate({ currentPassword, newPassword })
            }
          >
            <input
              type="text"
              name="username"
              autoComplete="username"
              value={account?.user.email ?? ''}
              readOnly
              hidden
            />
            <Input
              label="Current password"
              name="currentPassword"
              type="password"
              autoComplete="current-password"
              required
            />
            <Input
              label="New password"
              name="newPassword"
              type="password"
              autoComplete="new-password"
              required
              minLength={12}
              maxLength={128}
              hint="At least 12 characters. You are signed out everywhere else."
            />
          </Form>
        </Card>
        <SecondFactorCard />
        <Card
          title="Sessions"
          description="Where you are signed in."
          className="lg:col-span-2"
          actions={
            <ConfirmButton
              small
              label="Sign out everywhere else"
              title="Sign out everywhere else?"
              confirm="Sign out"
              onConfirm={() => endOthers.mutateAsync()}
            >
              <span className="flex flex-col gap-3">
                All other browsers have to sign in again. Programs keep their access tokens unless you revoke
                them.
                <label className="flex items-center gap-2 text-text">
                  <input
                    type="checkbox"
                    checked={withTokens}
                    onChange={({ target }) => setWithTokens(target.checked)}
                  />
                  Also revoke my access tokens
                </label>
              </span>
            </ConfirmButton>
          }
        >
          <DataTable
            label="Sessions"
            list={sessions}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Browser',
                cell: ({ userAgent, current }) => (
                  <span className="flex flex-wrap items-center gap-x-2 font-medium">
                    {browserOf(userAgent)} {current && <Badge tone="good">this one</Badge>}
                  </span>
                ),
              },
              { title: 'Network', wide: true, cell: ({ network }) => network ?? '–' },
              {
                title: 'Last seen',
                align: 'right',
                cell: ({ lastSeenAt }) => <Time at={lastSeenAt} as="ago" />,
                sort: ({ lastSeenAt }) => lastSeenAt,
              },
              {
                title: 'Actions',
                align: 'right',
                cell: ({ id, current }) =>
                  current ? null : (
                    <ConfirmButton
                      small
                      label="Sign out"
                      title="Sign out there?"
                      confirm="Sign out"
                      onConfirm={() => end.mutateAsync(id)}
                    >
                      That browser has to sign in again.
                    </ConfirmButton>
                  ),
              },
            ]}
            empty={<EmptyState icon="user" title="No sessions" />}
          />
        </Card>
        <Identities />
        <AccessTokens />
      </div>
    </>
  )
}
