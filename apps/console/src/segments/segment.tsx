import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { Button, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { Notice } from '../ui/states.tsx'
import { wordsOf } from './condition.ts'
import { SegmentForm } from './segment-form.tsx'
import { SegmentPeople } from './segment-people.tsx'

/** How often a segment whose events are being counted is read again, in ms. */
const COUNTING_REFRESH_MS = 5_000

/** One segment. */
export const SegmentPage = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const { key } = useParams({ strict: false }) as { key: string }
  const params = { path: { projectId, key } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('editor')
  const segment = useQuery({
    queryKey: [projectId, 'segment', key],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/segments/{key}', { params })),
    refetchInterval: ({ state }) => (state.data?.countsComplete === false ? COUNTING_REFRESH_MS : false),
  })
  const remove = useChange(() => unwrap(api.DELETE('/api/projects/{projectId}/segments/{key}', { params })), {
    done: 'Segment deleted',
    quiet: true,
    leave: () => navigate({ to: '/p/$projectId/people/segments', params: { projectId } }),
  })
  const back = { to: '/p/$projectId/people/segments', params: { projectId }, label: 'Segments' } as const
  if (!segment.data) return <PageWithoutData title={key} back={back} query={segment} lines={6} />
  const { name, condition, countsComplete } = segment.data
  // Not in a dialog, which would hide the suggestions of its fields from screen readers.
  if (dialog === 'edit')
    return (
      <>
        <PageHeader back={back} title={name} description={key} />
        <Card title={`Edit ${name}`} padded>
          <SegmentForm segment={segment.data} onDone={closeDialog} onCancel={closeDialog} />
        </Card>
      </>
    )
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        description={key}
        actions={
          <For atLeast="editor">
            <Button onClick={() => openDialog('edit')}>Edit</Button>
            <ConfirmButton
              label="Delete"
              title={`Delete ${name}?`}
              confirm="Delete segment"
              onConfirm={() => remove.mutateAsync()}
            >
              A segment that a rule refers to cannot be deleted.
            </ConfirmButton>
          </For>
        }
      />
      {!countsComplete && (
        <div className="mb-4">
          <Notice tone="warning">
            Earlier events are being counted. Until then, decisions see lower counts.
          </Notice>
        </div>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 lg:grid-cols-2">
        <Card
          title="Condition"
          description={
            condition.match === 'any' ? 'People match any of these.' : 'People match all of these.'
          }
          padded
        >
          <ul className="list-disc pl-5">
            {wordsOf(condition).map((words) => (
              <li key={words} className="wrap-anywhere">
                {words}
              </li>
            ))}
          </ul>
        </Card>
        <Card title="People" padded>
          <SegmentPeople condition={condition} />
        </Card>
        <Card title="In a rule" description="The condition of a rule that only these people match." padded>
          <Json label="The condition as JSON" value={{ segment: key }} />
        </Card>
      </div>
    </>
  )
}
