import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Segment } from '../api/types.ts'
import { FilterFields } from '../explore/filter-fields.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { type Condition, completeCondition } from './condition.ts'
import { CountFields } from './count-fields.tsx'
import { SegmentPeople } from './segment-people.tsx'
import { useTraits } from './use-traits.ts'

/** Creates a segment, or changes one. */
export const SegmentForm = ({
  segment,
  onDone,
  onCancel,
}: {
  segment?: Segment
  onDone: (saved: Segment) => void
  onCancel?: () => void
}) => {
  const projectId = useProjectId()
  const [condition, setCondition] = useState<Condition>(
    segment?.condition ?? { filters: [{ property: '', op: 'eq' }] },
  )
  const change = (part: Condition) => setCondition({ ...condition, ...part })
  const save = useChange(
    async ({ key = '', name = '' }: Record<string, string>): Promise<Segment> => {
      // An incomplete one is refused with the field at fault.
      const body = { name: name.trim(), condition: completeCondition(condition) ?? condition }
      return segment
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/segments/{key}', {
              params: { path: { projectId, key: segment.key } },
              body,
            }),
          )
        : (unwrap(
            api.POST('/api/projects/{projectId}/segments', {
              params: { path: { projectId } },
              body: { key: key.trim(), ...body },
            }),
          ) as Promise<Segment>)
    },
    { quiet: true, onDone, done: 'Segment saved' },
  )
  const { filters = [], counts = [], match = 'all' } = condition
  return (
    <Form
      submit={segment ? 'Save' : 'Create segment'}
      busy={save.isPending}
      error={save.error}
      names={['key', 'name']}
      onSubmit={(values) => save.mutate(values)}
      {...(onCancel && { onCancel })}
    >
      {!segment && (
        <Input
          label="Key"
          name="key"
          required
          maxLength={100}
          placeholder="regulars"
          hint="What rules refer to. It stays."
        />
      )}
      <Input
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder="Regular customers"
        defaultValue={segment?.name}
      />
      <Select
        label="People match"
        value={match}
        onChange={(event) => change({ match: event.target.value as 'all' | 'any' })}
        options={[
          ['all', 'all of these'],
          ['any', 'any of these'],
        ]}
      />
      <div className="flex flex-col gap-2">
        <FilterFields
          eventName={undefined}
          filters={filters}
          onChange={(next) => change({ filters: next })}
          useKnown={useTraits}
        />
        <CountFields counts={counts} onChange={(next) => change({ counts: next })} />
      </div>
      <section aria-label="People in the segment" className="rounded-lg border border-line p-3">
        <SegmentPeople condition={condition} />
      </section>
    </Form>
  )
}
