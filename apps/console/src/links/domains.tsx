import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { LinkDomain } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Verification } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'
import { DomainForm } from './domain-form.tsx'
import { LinksHeader } from './header.tsx'

/** The domains of the project's short links. */
export const LinkDomains = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const isAdmin = useMay('admin')
  const [dialog, openDialog, closeDialog] = useUrlDialog<'add'>('admin')
  const list = useList<LinkDomain>([projectId, 'link-domains'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/link-domains', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const open = ({ id }: LinkDomain) =>
    void navigate({ to: '/p/$projectId/links/domains/$id', params: { projectId, id } })
  const add = (
    <For atLeast="admin">
      <Button look="primary" icon="plus" onClick={() => openDialog('add')}>
        Add domain
      </Button>
    </For>
  )
  return (
    <>
      <LinksHeader actions={add} />
      <Card>
        <DataTable
          label="Domains"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Domain',
              sort: ({ host }) => host,
              cell: ({ id, host }) => (
                <Link
                  to="/p/$projectId/links/domains/$id"
                  params={{ projectId, id }}
                  className={`${rowLinkClass} wrap-anywhere`}
                >
                  {host}
                </Link>
              ),
            },
            {
              title: 'State',
              sort: ({ verifiedAt }) => verifiedAt,
              cell: ({ verifiedAt }) => <Verification verifiedAt={verifiedAt} />,
            },
            {
              title: 'Last verified',
              align: 'right',
              wide: true,
              sort: ({ verifiedAt }) => verifiedAt,
              cell: ({ verifiedAt }) => <Time at={verifiedAt} as="ago" />,
            },
            {
              title: 'Added',
              align: 'right',
              wide: true,
              sort: ({ createdAt }) => createdAt,
              cell: ({ createdAt }) => <Time at={createdAt} as="day" />,
            },
          ]}
          empty={
            <EmptyState icon="links" title="No domains yet" action={add}>
              <p className="mb-4">
                Short links can have a host of yours, such as go.shop.example.{' '}
                {isAdmin
                  ? 'Add it, and verify it by a DNS record.'
                  : 'Ask an admin of the project to add one.'}
              </p>
              <For atLeast="admin">
                <ApiCommand
                  does="adds a domain"
                  scope="manage:admin"
                  resource="link-domains"
                  body={{ host: 'go.shop.example', rootUrl: 'https://shop.example/' }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={dialog === 'add'} onClose={closeDialog} title="Add domain">
        <DomainForm onDone={open} onCancel={closeDialog} />
      </Modal>
    </>
  )
}
