import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { EmailSender } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { RoleRequired } from '../settings/role-required.tsx'
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

/** Addresses and domains that emails may come from. */
export const Senders = () => {
  const isAdmin = useMay('admin')
  const [dialog, openDialog, closeDialog] = useUrlDialog<'add'>('admin')
  return (
    <>
      <EmailHeader
        actions={
          <For atLeast="admin">
            <Button look="primary" icon="plus" onClick={() => openDialog('add')}>
              Add sender
            </Button>
          </For>
        }
      />
      {isAdmin ? (
        <SenderList adding={dialog === 'add'} onClose={closeDialog} />
      ) : (
        <RoleRequired needed="admin" />
      )}
    </>
  )
}

const SenderList = ({ adding, onClose }: { adding: boolean; onClose: () => void }) => {
  const projectId = useProjectId()
  const path = { projectId }
  const list = useList<EmailSender>([projectId, 'senders'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/email-senders', {
        params: { path, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const add = useChange(
    (sender: string) =>
      unwrap(api.POST('/api/projects/{projectId}/email-senders', { params: { path }, body: { sender } })),
    { done: ({ recipient }) => `A link was mailed to ${recipient}`, quiet: true, onDone: onClose },
  )
  const remove = useChange(
    (id: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/email-senders/{id}', { params: { path: { projectId, id } } }),
      ),
    { done: 'Sender removed', quiet: true },
  )
  return (
    <>
      <Card>
        <DataTable
          label="Senders"
          list={list}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Sender',
              cell: ({ sender }) => <span className={`${wrappedClass} font-medium`}>{sender}</span>,
              sort: ({ sender }) => sender,
            },
            {
              title: 'State',
              cell: ({ status, mailError }) => (
                <Badge tone={status === 'verified' ? 'good' : 'warning'}>
                  {mailError ? 'mail failed' : status}
                </Badge>
              ),
              sort: ({ status }) => status,
            },
            {
              title: 'Link mailed to',
              wide: true,
              cell: ({ recipient, mailError }) => (
                <span className="text-muted">{mailError ?? recipient}</span>
              ),
            },
            {
              title: 'Verified',
              align: 'right',
              wide: true,
              cell: ({ verifiedAt }) => <Time at={verifiedAt} as="day" />,
            },
            {
              title: 'Actions',
              align: 'right',
              cell: ({ id, sender, status }) => (
                <span className="inline-flex flex-wrap justify-end gap-2">
                  {status === 'pending' && (
                    <Button small busy={add.isPending} onClick={() => add.mutate(sender)}>
                      Send link again
                    </Button>
                  )}
                  <ConfirmButton
                    small
                    label="Remove"
                    title={`Remove ${sender}?`}
                    confirm="Remove"
                    onConfirm={() => remove.mutateAsync(id)}
                  >
                    Triggers that send from it fail until it is verified again.
                  </ConfirmButton>
                </span>
              ),
            },
          ]}
          empty={
            <EmptyState icon="email" title="No senders of your own">
              <p className="mb-4">
                Emails come from the address of this installation. Add an address or a domain of yours, and
                verify it by the link that is mailed to it.
              </p>
              <For atLeast="admin">
                <ApiCommand
                  does="adds a sender"
                  scope="manage:admin"
                  resource="email-senders"
                  body={{ sender: 'hello@shop.example' }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={adding} onClose={onClose} title="Add sender">
        <Form
          submit="Mail the link"
          busy={add.isPending}
          error={add.error}
          names={['sender']}
          onCancel={onClose}
          onSubmit={({ sender = '' }) => add.mutate(sender)}
        >
          <Input
            label="Address or domain"
            name="sender"
            required
            maxLength={254}
            placeholder="hello@shop.example"
          />
        </Form>
      </Modal>
    </>
  )
}
