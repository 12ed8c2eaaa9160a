import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Annotation } from '../api/types.ts'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT, toLocalInput } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import type { PlotMark } from '../ui/plot.tsx'
import { ErrorState } from '../ui/states.tsx'

/** Notes that are listed before the rest is asked for. */
const FIRST = 5

/** What happened in a range of time. */
export const useNotes = (range: { from: string; to: string }) => {
  const projectId = useProjectId()
  return useQuery({
    queryKey: [projectId, 'annotations', range],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/annotations', { params: { path: { projectId }, query: range } }),
      ),
  })
}

/** The notes of a chart whose axis is in seconds. */
export const useMarks = (notes: readonly Annotation[] | undefined): PlotMark[] =>
  useMemo(() => (notes ?? []).map(({ at, text }) => ({ x: Date.parse(at) / 1000, text })), [notes])

const Note = ({ note: { id, kind, text, at } }: { note: Annotation }) => {
  const projectId = useProjectId()
  const remove = useChange(
    () =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/annotations/{id}', { params: { path: { projectId, id } } }),
      ),
    { done: 'Deleted the note', quiet: true },
  )
  return (
    <li className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
      <span className="min-w-0 break-words">{text}</span>
      <span className="flex items-center gap-2 text-muted">
        <Time at={at} />
        {kind === 'note' && (
          <For atLeast="editor">
            <ConfirmButton
              small
              label="Delete"
              title={`Delete “${text}”?`}
              confirm="Delete note"
              onConfirm={() => remove.mutateAsync()}
            >
              It disappears from all charts.
            </ConfirmButton>
          </For>
        )}
      </span>
    </li>
  )
}

const NoteForm = ({ onDone }: { onDone: () => void }) => {
  const projectId = useProjectId()
  const create = useChange(
    ({ text = '', at }: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/annotations', {
          params: { path: { projectId } },
          body: { text, at: fromLocalInput(at) ?? new Date().toISOString() },
        }),
      ),
    { quiet: true, done: 'Added the note', onDone },
  )
  return (
    <Form
      submit="Add note"
      busy={create.isPending}
      error={create.error}
      names={['text', 'at']}
      onSubmit={(values) => create.mutate(values)}
      onCancel={onDone}
    >
      <Input label="What happened" name="text" required maxLength={200} placeholder="Deployed 1.4.0" />
      <Input
        label="When"
        name="at"
        type="datetime-local"
        hint={LOCAL_TIME_HINT}
        defaultValue={toLocalInput(new Date().toISOString())}
      />
    </Form>
  )
}

/** What happened in the time of a chart, with a button that adds a note. */
export const Notes = ({ notes }: { notes: ReturnType<typeof useNotes> }) => {
  const [adding, setAdding] = useState(false)
  const [showsAll, setShowsAll] = useState(false)
  const may = useMay('editor')
  const all = notes.data?.data ?? []
  const shown = showsAll ? all : all.slice(0, FIRST)
  if (all.length === 0 && !notes.error && !may) return null
  return (
    <Card
      title="Notes"
      description="What may explain a change, such as a deployment."
      padded
      actions={
        <For atLeast="editor">
          <Button icon="plus" onClick={() => setAdding(true)}>
            Add note
          </Button>
        </For>
      }
    >
      {notes.error && <ErrorState error={notes.error} retry={() => void notes.refetch()} />}
      {shown.length > 0 && (
        <ul className="flex flex-col gap-2">
          {shown.map((note) => (
            <Note key={note.id} note={note} />
          ))}
        </ul>
      )}
      {shown.length < all.length && (
        <Button small onClick={() => setShowsAll(true)}>
          Show {all.length - shown.length} more
        </Button>
      )}
      <Modal open={adding} onClose={() => setAdding(false)} title="Add note">
        <NoteForm onDone={() => setAdding(false)} />
      </Modal>
    </Card>
  )
}
