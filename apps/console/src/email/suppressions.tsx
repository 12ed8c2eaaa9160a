import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Suppression } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, wrappedClass } from '../ui/table.tsx'
import { EmailHeader } from './header.tsx'

/** Addresses that receive no email. */
export const Suppressions = () => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const path = { projectId }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'add'>('editor')
  const list = useList<Suppression>([projectId, 'suppressions'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/suppressions', {
        params: { path, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const add = useChange(
    (address: string) =>
      unwrap(api.POST('/api/projects/{projectId}/suppressions', { params: { path }, body: { address } })),
    { done: 'Address suppressed', quiet: true, onDone: closeDialog },
  )
  const remove = useChange(
    (id: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/suppressions/{id}', { params: { path: { projectId, id } } }),
      ),
    { done: 'The address gets email again', quiet: true },
  )
  return (
    <>
      <EmailHeader
        actions={
          <For atLeast="editor">
            <Button look="primary" icon="plus" onClick={() => openDialog('add')}>
              Suppress address
            </Button>
          </For>
        }
      />
      <Card>
        <DataTable
          label="Suppressions"
          list={list}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Address',
              cell: ({ address }) => <span className={`${wrappedClass} font-medium`}>{address}</span>,
              sort: ({ address }) => address,
            },
            {
              title: 'Reason',
              cell: ({ reason }) => <Badge tone="warning">{reason}</Badge>,
              sort: ({ reason }) => reason,
            },
            {
              title: 'Since',
              wide: true,
              align: 'right',
              cell: ({ createdAt }) => <Time at={createdAt} />,
              sort: ({ createdAt }) => createdAt,
            },
            ...(mayEdit
              ? [
                  {
                    title: 'Actions',
                    align: 'right' as const,
                    cell: ({ id, address }: Suppression) => (
                      <ConfirmButton
                        small
                        label="Remove"
                        title={`Send email to ${address} again?`}
                        confirm="Remove"
                        onConfirm={() => remove.mutateAsync(id)}
                      >
                        Only do this when the person asked for it.
                      </ConfirmButton>
                    ),
                  },
                ]
              : []),
          ]}
          empty={
            <EmptyState icon="check" title="No suppressed addresses">
              <p className="mb-4">Addresses that unsubscribed or bounced appear here.</p>
              <For atLeast="editor">
                <ApiCommand
                  does="suppresses an address"
                  resource="suppressions"
                  body={{ address: 'ann@shop.example' }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={dialog === 'add'} onClose={closeDialog} title="Suppress address">
        <Form
          submit="Suppress"
          busy={add.isPending}
          error={add.error}
          names={['address']}
          onCancel={closeDialog}
          onSubmit={({ address = '' }) => add.mutate(address)}
        >
          <Input
            label="Address"
            name="address"
            type="email"
            required
            placeholder="ann@shop.example"
            hint="Triggers send no email to it any more."
          />
        </Form>
      </Modal>
    </>
  )
}
