import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useEventNames } from '../api/known-events.ts'
import { useProjectId } from '../api/session.ts'
import type { EventDefinition } from '../api/types.ts'
import { Button } from '../ui/button.tsx'
import { Form, Input, Suggest, TextArea } from '../ui/form.tsx'
import { formatCount } from '../ui/format.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { Notice } from '../ui/states.tsx'

const EMPTY = { type: 'object', properties: {}, required: [] }

/** Defines an event, or changes its definition. */
export const DefinitionForm = ({
  definition,
  onDone,
  onCancel,
}: {
  definition?: EventDefinition
  onDone: (definition: EventDefinition) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const names = useEventNames()
  const [name, setName] = useState(definition?.name ?? '')
  const [schema, setSchema] = useState(JSON.stringify(definition?.schema ?? EMPTY, null, 2))
  const path = { projectId }
  const infer = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/event-definitions/infer', {
          params: { path },
          body: { eventName: name },
        }),
      ),
    { quiet: true, onDone: (inferred) => setSchema(JSON.stringify(inferred.schema, null, 2)) },
  )
  const save = useChange(
    async ({ description = '' }: Record<string, string>): Promise<EventDefinition> => {
      const body = {
        description: description || null,
        schema: parseEnteredJson(schema, 'The schema') as Record<string, unknown>,
      }
      return definition
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/event-definitions/{id}', {
              params: { path: { projectId, id: definition.id } },
              body,
            }),
          )
        : (unwrap(
            api.POST('/api/projects/{projectId}/event-definitions', {
              params: { path },
              body: { name, ...body },
            }),
          ) as Promise<EventDefinition>)
    },
    { done: 'Definition saved', quiet: true, onDone },
  )
  return (
    <Form
      submit="Save"
      busy={save.isPending}
      error={save.error}
      names={['name', 'description']}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      {!definition && (
        <Suggest
          label="Event name"
          name="name"
          options={names}
          required
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      )}
      <Input label="Description" name="description" defaultValue={definition?.description ?? ''} />
      <TextArea
        label="Schema"
        code
        rows={14}
        value={schema}
        onChange={(event) => setSchema(event.target.value)}
        hint="A JSON Schema of the event's properties, in draft 2020-12 unless $schema names another."
      />
      <div className="flex flex-wrap items-center gap-3">
        <Button icon="refresh" busy={infer.isPending} disabled={name === ''} onClick={() => infer.mutate()}>
          Infer from events
        </Button>
        {infer.data && (
          <span className="text-muted">Inferred from {formatCount(infer.data.sampled, 'event')}.</span>
        )}
      </div>
      {infer.error && <Notice tone="danger">{infer.error.message}</Notice>}
    </Form>
  )
}
