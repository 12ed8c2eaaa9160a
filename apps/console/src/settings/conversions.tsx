import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useEventNames } from '../api/known-events.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { MeteringSelector } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, Input, Suggest, TextArea } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, TruncatedName } from '../ui/table.tsx'
import { SettingsHeader } from './header.tsx'

/** The metering selectors of the project. */
export const Conversions = () => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const names = useEventNames()
  const path = { projectId }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'add'>('editor')
  const list = useList<MeteringSelector>([projectId, 'selector-list'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/metering-selectors', {
        params: { path, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const add = useChange(
    async ({ eventName = '', amountProperty, currencyProperty, filter }: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/metering-selectors', {
          params: { path },
          body: {
            eventName,
            ...(amountProperty && { amountProperty }),
            ...(currencyProperty && { currencyProperty }),
            ...(filter?.trim() && { filter: parseEnteredJson(filter, 'The filter') }),
          },
        }),
      ),
    { done: 'These events are conversions from now on', quiet: true, onDone: closeDialog },
  )
  const archive = useChange(
    (id: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/metering-selectors/{id}', {
          params: { path: { projectId, id } },
        }),
      ),
    { done: 'Selector archived', quiet: true },
  )
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => openDialog('add')}>
        Add conversion
      </Button>
    </For>
  )
  return (
    <>
      <SettingsHeader actions={create} />
      <Card>
        <DataTable
          label="Metering selectors"
          list={list}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Event',
              cell: ({ eventName }) => (
                <span className="font-medium">
                  <TruncatedName>{eventName}</TruncatedName>
                </span>
              ),
              sort: ({ eventName }) => eventName,
            },
            { title: 'Amount', cell: ({ amountProperty }) => amountProperty ?? '–' },
            { title: 'Currency', wide: true, cell: ({ currencyProperty }) => currencyProperty ?? '–' },
            {
              title: 'Filter',
              wide: true,
              cell: ({ filter }) => (
                <code className="block max-w-60 truncate font-mono">
                  {filter == null ? '–' : JSON.stringify(filter)}
                </code>
              ),
            },
            {
              title: 'Since',
              wide: true,
              align: 'right',
              cell: ({ createdAt }) => <Time at={createdAt} as="day" />,
              sort: ({ createdAt }) => createdAt,
            },
            ...(mayEdit
              ? [
                  {
                    title: 'Actions',
                    align: 'right' as const,
                    cell: ({ id, eventName }: MeteringSelector) => (
                      <ConfirmButton
                        small
                        label="Archive"
                        title={`Count ${eventName} no more?`}
                        confirm="Archive"
                        onConfirm={() => archive.mutateAsync(id)}
                      >
                        What was counted stays.
                      </ConfirmButton>
                    ),
                  },
                ]
              : []),
          ]}
          empty={
            <EmptyState icon="check" title="No event is a conversion yet" action={create}>
              <p className="mb-4">
                Say which events count, and which of their properties hold amount and currency.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="makes events conversions"
                  resource="metering-selectors"
                  body={{ eventName: 'order_placed', amountProperty: 'total', currencyProperty: 'currency' }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={dialog === 'add'} onClose={closeDialog} title="Add conversion">
        <Form
          submit="Add"
          busy={add.isPending}
          error={add.error}
          names={['eventName', 'amountProperty', 'currencyProperty']}
          onCancel={closeDialog}
          onSubmit={(values) => add.mutate(values)}
        >
          <Suggest label="Event" name="eventName" options={names} required maxLength={200} />
          <Input
            label="Property with the amount"
            name="amountProperty"
            placeholder="total"
            hint="In minor units, such as cents."
          />
          <Input
            label="Property with the currency"
            name="currencyProperty"
            placeholder="currency"
            hint="Left empty, an amount has the currency of the property currency."
          />
          <TextArea
            label="Filter"
            name="filter"
            code
            rows={2}
            hint="JsonLogic over the event. Left empty, all of them count."
          />
        </Form>
      </Modal>
    </>
  )
}
