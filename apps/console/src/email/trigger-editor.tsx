import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useEventNames } from '../api/known-events.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { EmailTrigger } from '../api/types.ts'
import { Card } from '../ui/card.tsx'
import { Form, Input, Suggest, TextArea } from '../ui/form.tsx'
import { LeavePrompt } from '../ui/leave-prompt.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { EmailPreview } from './email-preview.tsx'

const START = `<h1>Hello {{traits.name}}</h1>
<p>Thank you for {{event.properties.plan}}.</p>`

/** The templates of a trigger with a live preview. */
export const TriggerEditor = ({
  trigger,
  onDone,
}: {
  trigger?: EmailTrigger
  onDone: (trigger: EmailTrigger) => void
}) => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor') && trigger?.status !== 'archived'
  const names = useEventNames()
  const [subject, setSubject] = useState(trigger?.subject ?? 'Welcome, {{traits.name}}')
  const [html, setHtml] = useState(trigger?.html ?? START)
  const [changed, setChanged] = useState(false)
  const save = useChange(
    async (values: Record<string, string>): Promise<EmailTrigger> => {
      const body = {
        name: values.name ?? '',
        eventName: values.eventName ?? '',
        subject,
        html,
        filter: values.filter?.trim() ? parseEnteredJson(values.filter, 'The filter') : null,
        from: values.from || null,
        cooldownSeconds: Math.round(Number(values.cooldown || 0) * 3600),
      }
      return trigger
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/email-triggers/{id}', {
              params: { path: { projectId, id: trigger.id } },
              body,
            }),
          )
        : (unwrap(
            api.POST('/api/projects/{projectId}/email-triggers', { params: { path: { projectId } }, body }),
          ) as Promise<EmailTrigger>)
    },
    {
      done: 'Trigger saved',
      quiet: true,
      onDone: (saved) => {
        setChanged(false)
        onDone(saved)
      },
    },
  )
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      {mayEdit && (
        <Card title="Email" padded className="self-start">
          <LeavePrompt changed={changed} />
          <Form
            submit="Save"
            busy={save.isPending}
            error={save.error}
            names={['name', 'eventName', 'from']}
            onEdit={() => setChanged(true)}
            onSubmit={(values) => save.mutate(values)}
          >
            <div className="grid gap-4 sm:grid-cols-2">
              <Input label="Name" name="name" required maxLength={200} defaultValue={trigger?.name} />
              <Suggest
                label="Event"
                name="eventName"
                options={names}
                required
                maxLength={200}
                defaultValue={trigger?.eventName}
              />
              <Input
                label="From"
                name="from"
                placeholder="the default sender"
                defaultValue={trigger?.from ?? ''}
              />
              <Input
                label="Pause per person, hours"
                name="cooldown"
                type="number"
                min={0}
                step="0.5"
                defaultValue={(trigger?.cooldownSeconds ?? 0) / 3600}
              />
            </div>
            <TextArea
              label="Filter"
              name="filter"
              code
              rows={2}
              placeholder='{">": [{"var": "properties.total"}, 5000]}'
              hint="JsonLogic over the event. Left empty, every event sends."
              defaultValue={trigger?.filter == null ? '' : JSON.stringify(trigger.filter)}
            />
            <Input
              label="Subject"
              value={subject}
              required
              maxLength={500}
              onChange={(event) => setSubject(event.target.value)}
            />
            <TextArea
              label="HTML"
              code
              rows={14}
              value={html}
              required
              onChange={(event) => setHtml(event.target.value)}
              hint="Handlebars with traits, event, profile and project."
            />
          </Form>
        </Card>
      )}
      <EmailPreview subject={subject} html={html} trigger={mayEdit ? trigger : undefined} />
    </div>
  )
}
