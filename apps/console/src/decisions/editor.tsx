import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Decision } from '../api/types.ts'
import { useNavigateFromHere } from '../api/url-state.ts'
import { Button, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Choose } from '../ui/choose.tsx'
import { Form, Input, NumberInput, Select, TextArea } from '../ui/form.tsx'
import { LeavePrompt } from '../ui/leave-prompt.tsx'
import { Backtest } from './backtest.tsx'
import { usePoolChoices, useSegmentChoices, useSelectorChoices } from './choices.ts'
import { asIn, bodyOf, type Draft, editOf, followDecision, newId, newMetric, newRule } from './draft.ts'
import { PRODUCTION } from './environment-select.tsx'
import { MetricFields } from './metric-fields.tsx'
import { RuleFields } from './rule-fields.tsx'

/** Creates a decision. */
export const NewDecision = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  return (
    <>
      <PageHeader
        back={{ to: '/p/$projectId/decisions', params: { projectId }, label: 'Decisions' }}
        title="New decision"
      />
      <For atLeast="editor">
        <DecisionEditor
          onDone={({ key }) =>
            void navigate({
              to: '/p/$projectId/decisions/$key',
              params: { projectId, key },
              ignoreBlocker: true,
            })
          }
        />
      </For>
    </>
  )
}

/** The form of a decision. */
export const DecisionEditor = ({
  decision: stored,
  environment = PRODUCTION,
  onDone,
}: {
  decision?: Decision
  /** Whose rules are edited. All other parts are edited in production only. */
  environment?: string
  onDone: (decision: Decision) => void
}) => {
  const projectId = useProjectId()
  const decision = stored && asIn(stored, environment)
  const inProduction = environment === PRODUCTION
  const [edit, setEdit] = useState(() => editOf(decision))
  const followed = decision ? followDecision(edit, decision) : edit
  if (followed !== edit) setEdit(followed)
  const { draft, original, version } = followed
  const change = (part: Partial<Draft>) => setEdit({ ...followed, draft: { ...draft, ...part } })
  const pools = usePoolChoices()
  const selectors = useSelectorChoices()
  const segments = useSegmentChoices()
  const changeOf = (edited: Draft) => {
    const body = bodyOf(edited)
    return { version, ...(inProduction ? body : { environments: { [environment]: { rules: body.rules } } }) }
  }
  const save = useChange(
    async (): Promise<Decision> => {
      const body = bodyOf(draft)
      const saved = await (decision
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/decisions/{key}', {
              params: { path: { projectId, key: decision.key } },
              body: changeOf(draft),
            }),
          )
        : (unwrap(
            api.POST('/api/projects/{projectId}/decisions', {
              params: { path: { projectId } },
              body: { key: draft.key, ...body },
            }),
          ) as Promise<Decision>))
      // What was typed since then stays, to be saved next.
      const edited = editOf(asIn(saved, environment))
      setEdit((now) => (now.draft === draft ? edited : { ...edited, draft: now.draft }))
      return saved
    },
    {
      done: 'Decision saved',
      quiet: true,
      onDone,
      propose: () => decision && { decision: decision.key, change: changeOf(draft) },
    },
  )
  const setVariant = (id: string, part: Partial<Draft['variants'][number]>) =>
    change({ variants: draft.variants.map((one) => (one.id === id ? { ...one, ...part } : one)) })
  return (
    <>
      <Form
        submit="Save decision"
        busy={save.isPending}
        error={save.error}
        names={['key', 'name', 'owner', 'tags', 'description']}
        onSubmit={() => save.mutate()}
      >
        <LeavePrompt changed={draft !== original} />
        {inProduction && (
          <>
            <Card padded>
              <div className="grid gap-4 sm:grid-cols-2">
                {!decision && (
                  <Input
                    label="Key"
                    name="key"
                    required
                    maxLength={200}
                    placeholder="free-shipping"
                    value={draft.key}
                    onChange={(event) => change({ key: event.target.value })}
                    hint="What your shop asks for. It stays."
                  />
                )}
                <Input
                  label="Name"
                  name="name"
                  maxLength={200}
                  value={draft.name}
                  onChange={(event) => change({ name: event.target.value })}
                />
                <Input
                  label="Owner"
                  name="owner"
                  maxLength={200}
                  placeholder="Team checkout"
                  value={draft.owner}
                  onChange={(event) => change({ owner: event.target.value })}
                />
                <Input
                  label="Tags"
                  name="tags"
                  placeholder="sale, checkout"
                  value={draft.tags}
                  onChange={(event) => change({ tags: event.target.value })}
                  hint="Separated by commas."
                />
                <TextArea
                  label="Description"
                  name="description"
                  rows={2}
                  maxLength={2_000}
                  value={draft.description}
                  onChange={(event) => change({ description: event.target.value })}
                />
              </div>
            </Card>
            <Card title="Variants" description="What a person may get. Values are JSON." padded>
              <div className="flex flex-col gap-3">
                {draft.variants.map(({ id, key, value, couponPoolId }, index) => (
                  <fieldset
                    key={id}
                    className="grid items-end gap-3 rounded-lg border border-line p-3 sm:grid-cols-[1fr_1.5fr_1.2fr_auto]"
                  >
                    <legend className="sr-only">Variant {index + 1}</legend>
                    <Input
                      label="Variant"
                      required
                      value={key}
                      onChange={(event) => setVariant(id, { key: event.target.value })}
                    />
                    <Input
                      label="Value"
                      required
                      value={value}
                      onChange={(event) => setVariant(id, { value: event.target.value })}
                    />
                    <Choose
                      label="Coupon from"
                      value={couponPoolId}
                      choices={pools}
                      placeholder="no coupon"
                      onChange={(chosen) => setVariant(id, { couponPoolId: chosen })}
                    />
                    <Button
                      look="quiet"
                      icon="trash"
                      aria-label={`Remove variant ${key}`}
                      disabled={draft.variants.length === 1}
                      onClick={() => change({ variants: draft.variants.filter((one) => one.id !== id) })}
                    />
                  </fieldset>
                ))}
                <div className="flex flex-wrap items-end justify-between gap-3">
                  <Button
                    icon="plus"
                    onClick={() =>
                      change({
                        variants: [
                          ...draft.variants,
                          {
                            id: newId(),
                            key: `variant-${draft.variants.length + 1}`,
                            value: 'true',
                            couponPoolId: '',
                          },
                        ],
                      })
                    }
                  >
                    Add variant
                  </Button>
                  <Select
                    label="Everyone else gets"
                    value={draft.fallbackVariant}
                    onChange={(event) => change({ fallbackVariant: event.target.value })}
                    options={draft.variants.map(({ key }) => [key, key] as const)}
                  />
                </div>
              </div>
            </Card>
          </>
        )}
        <Card
          title={inProduction ? 'Rules' : `Rules in ${environment}`}
          description="The first rule that fits a person decides."
          padded
        >
          <div className="flex flex-col gap-3">
            {draft.rules.map((rule, index) => (
              <RuleFields
                key={rule.id}
                rule={rule}
                number={index + 1}
                variants={draft.variants}
                fallbackVariant={draft.fallbackVariant}
                metrics={draft.metrics}
                segments={segments}
                onChange={(part) =>
                  change({
                    rules: draft.rules.map((one) => (one.id === rule.id ? { ...one, ...part } : one)),
                  })
                }
                onRemove={() => change({ rules: draft.rules.filter(({ id }) => id !== rule.id) })}
              />
            ))}
            <div>
              <Button icon="plus" onClick={() => change({ rules: [...draft.rules, newRule()] })}>
                Add rule
              </Button>
            </div>
          </div>
        </Card>
        {inProduction && (
          <>
            <Card title="Metrics" description="What the results compare the variants of a split by." padded>
              <div className="flex flex-col gap-3">
                {draft.metrics.map((metric, index) => (
                  <MetricFields
                    key={metric.id}
                    metric={metric}
                    number={index + 1}
                    selectors={selectors}
                    onChange={(part) =>
                      change({
                        metrics: draft.metrics.map((one) =>
                          one.id === metric.id ? { ...one, ...part } : one,
                        ),
                      })
                    }
                    onRemove={() => change({ metrics: draft.metrics.filter(({ id }) => id !== metric.id) })}
                  />
                ))}
                <div>
                  <Button
                    icon="plus"
                    disabled={draft.metrics.length >= 10}
                    onClick={() => change({ metrics: [...draft.metrics, newMetric()] })}
                  >
                    Add metric
                  </Button>
                </div>
              </div>
            </Card>
            <Card padded>
              <NumberInput
                label="Holdout, percent"
                min={0}
                max={100}
                step="0.01"
                value={draft.holdout}
                onCommit={(value) => change({ holdout: value })}
                hint="So many people always get the fallback, to compare all others with."
                className="max-w-sm"
              />
            </Card>
          </>
        )}
      </Form>
      {decision && (
        <div className="mt-4">
          <Backtest
            decisionKey={decision.key}
            environment={environment}
            definition={() => {
              const { version: _, ...definition } = changeOf(draft)
              return definition
            }}
            version={draft}
          />
        </div>
      )}
    </>
  )
}
