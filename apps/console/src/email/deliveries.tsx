import { Link } from '@tanstack/react-router'
import { linkClass } from '../account/frame.tsx'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { EmailDelivery } from '../api/types.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { statusColumn } from '../ui/columns.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine, rowLinkClass } from '../ui/table.tsx'
import { EmailHeader } from './header.tsx'

/** The emails of all triggers. */
export const Deliveries = () => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const list = useList<EmailDelivery>(
    [projectId, 'deliveries'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/email-deliveries', {
          params: { path: { projectId }, query: { limit: 50, ...cursor } },
        }),
      ),
    { refetchInterval: 5_000 },
  )
  const retry = useChange(
    (id: string) =>
      unwrap(
        api.POST('/api/projects/{projectId}/email-deliveries/{id}/retry', {
          params: { path: { projectId, id } },
        }),
      ),
    { done: 'The email is sent again' },
  )
  return (
    <>
      <EmailHeader />
      <Card>
        <DataTable
          label="Deliveries"
          list={list}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'To',
              sort: ({ recipient }) => recipient,
              cell: ({ recipient, profileId, test, status, sentAt, createdAt }) => (
                <span className="flex min-w-20 flex-wrap items-center gap-x-2 wrap-anywhere">
                  {profileId ? (
                    <Link
                      to="/p/$projectId/people/$id"
                      params={{ projectId, id: profileId }}
                      className={rowLinkClass}
                    >
                      {recipient ?? 'someone'}
                    </Link>
                  ) : (
                    (recipient ?? '–')
                  )}
                  {test && <Badge>test</Badge>}
                  <NarrowLine>
                    <Status status={status} /> <Time at={sentAt ?? createdAt} as="ago" />
                  </NarrowLine>
                </span>
              ),
            },
            { ...statusColumn, wide: true },
            {
              title: 'Message id or reason',
              wide: true,
              cell: ({ reason }) => (
                <span className="block max-w-40 truncate text-muted">{reason ?? '–'}</span>
              ),
            },
            {
              title: 'When',
              align: 'right',
              wide: true,
              cell: ({ sentAt, createdAt }) => <Time at={sentAt ?? createdAt} />,
              sort: ({ createdAt }) => createdAt,
            },
            ...(mayEdit
              ? [
                  {
                    title: 'Actions',
                    align: 'right' as const,
                    cell: ({ id, status }: EmailDelivery) =>
                      status === 'failed' ? (
                        <Button small icon="refresh" busy={retry.isPending} onClick={() => retry.mutate(id)}>
                          Retry
                        </Button>
                      ) : null,
                  },
                ]
              : []),
          ]}
          empty={
            <EmptyState icon="email" title="No email was due yet">
              They appear here when an event fires an active{' '}
              <Link to="/p/$projectId/email" params={{ projectId }} className={linkClass}>
                trigger
              </Link>
              .
            </EmptyState>
          }
        />
      </Card>
    </>
  )
}
