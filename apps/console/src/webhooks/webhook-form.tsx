import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Webhook } from '../api/types.ts'
import { Checkboxes } from '../ui/checkboxes.tsx'
import { Form, Input, TextArea } from '../ui/form.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { TOPICS, type Topic } from './topics.ts'

const MAX_URL_LENGTH = 2_000

/** Creates a webhook, or changes one. */
export const WebhookForm = ({
  webhook,
  onDone,
  onCancel,
}: {
  webhook?: Webhook
  /** Receives the id, and the secret of a new webhook. */
  onDone: (saved: { id: string; secret?: string }) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const [topics, setTopics] = useState<readonly Topic[]>(
    TOPICS.flatMap(([topic]) => ((webhook?.topics ?? ['event']).includes(topic) ? [topic] : [])),
  )
  const save = useChange(
    async ({ url = '', eventNames = '', filter = '' }: Record<string, string>) => {
      const body = {
        url: url.trim(),
        topics: [...topics],
        eventNames: linesOf(eventNames),
        filter: filter.trim() ? parseEnteredJson(filter, 'The filter') : null,
      }
      return webhook
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/webhooks/{id}', {
              params: { path: { projectId, id: webhook.id } },
              body,
            }),
          )
        : unwrap(api.POST('/api/projects/{projectId}/webhooks', { params: { path: { projectId } }, body }))
    },
    { quiet: true, onDone, ...(webhook && { done: 'Webhook saved' }) },
  )
  return (
    <Form
      submit={webhook ? 'Save' : 'Create webhook'}
      busy={save.isPending}
      error={save.error}
      names={['url', 'eventNames', 'filter']}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <Input
        label="URL"
        name="url"
        type="url"
        required
        maxLength={MAX_URL_LENGTH}
        placeholder="https://shop.example/waymark"
        hint="Messages are posted there. Redirects are not followed."
        defaultValue={webhook?.url}
      />
      <Checkboxes label="Topics" options={TOPICS} value={topics} onChange={setTopics} />
      <TextArea
        label="Event names"
        name="eventNames"
        rows={3}
        placeholder="order_placed"
        hint="One a line. Only events and conversions of these names are delivered. Left empty, all are."
        defaultValue={webhook?.eventNames.join('\n') ?? ''}
      />
      <TextArea
        label="Filter"
        name="filter"
        code
        rows={2}
        placeholder='{">": [{"var": "properties.total"}, 5000]}'
        hint="JsonLogic over topic and data, and for events and conversions also event and properties. Left empty, all are delivered."
        defaultValue={webhook?.filter == null ? '' : JSON.stringify(webhook.filter)}
      />
    </Form>
  )
}

/** The lines that are not blank, each once. */
const linesOf = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  ),
]
