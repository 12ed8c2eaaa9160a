import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { LoyaltyProgramme, PointMovement } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { useSelectorChoices } from '../decisions/choices.ts'
import { Status } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { formatNumber, Time } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { EmptyState, ErrorState, SkeletonLines } from '../ui/states.tsx'
import { DataTable, NarrowLine } from '../ui/table.tsx'
import { ProgrammeForm } from './programme-form.tsx'
import { wordsOfExpiry, wordsOfRule, wordsOfSpending } from './words.ts'

/** One loyalty programme: its terms, its sums and its movements. */
export const ProgrammePage = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const { key } = useParams({ strict: false }) as { key: string }
  const params = { path: { projectId, key } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('editor')
  const programme = useQuery({
    queryKey: [projectId, 'programme', key],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/loyalty-programmes/{key}', { params })),
  })
  const archive = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/loyalty-programmes/{key}', { params })),
    {
      done: 'Programme archived',
      quiet: true,
      leave: () => navigate({ to: '/p/$projectId/coupons/loyalty', params: { projectId } }),
    },
  )
  const back = { to: '/p/$projectId/coupons/loyalty', params: { projectId }, label: 'Loyalty' } as const
  if (!programme.data) return <PageWithoutData title={key} back={back} query={programme} lines={6} />
  const { name, status } = programme.data
  const isArchived = status === 'archived'
  if (dialog === 'edit' && !isArchived)
    return (
      <>
        <PageHeader back={back} title={name} description={key} />
        <Card title={`Edit ${name}`} padded>
          <ProgrammeForm programme={programme.data} onDone={closeDialog} onCancel={closeDialog} />
        </Card>
      </>
    )
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        description={key}
        aside={<Status status={status} />}
        actions={
          !isArchived && (
            <For atLeast="editor">
              <Button onClick={() => openDialog('edit')}>Edit</Button>
              <ConfirmButton
                label="Archive"
                title={`Archive ${name}?`}
                confirm="Archive programme"
                onConfirm={() => archive.mutateAsync()}
              >
                It neither earns nor spends points any more. People keep what the ledger says.
              </ConfirmButton>
            </For>
          )
        }
      />
      <div className="mb-4 grid grid-cols-[minmax(0,1fr)] items-start gap-4 lg:grid-cols-2">
        <Terms programme={programme.data} />
        <Sums programmeKey={key} />
      </div>
      <Card title="Movements">
        <Movements programmeKey={key} />
      </Card>
    </>
  )
}

const Terms = ({
  programme: { rules, spending, expiryMonths, tiers },
}: {
  programme: Pick<LoyaltyProgramme, 'rules' | 'spending' | 'expiryMonths' | 'tiers'>
}) => {
  const nameOf = new Map(useSelectorChoices())
  const lines = (texts: readonly string[]) =>
    texts.length === 0
      ? '–'
      : texts.map((text) => (
          <span key={text} className="block wrap-anywhere">
            {text}
          </span>
        ))
  return (
    <Card title="Terms" padded>
      <Facts
        rows={[
          [
            'Earned',
            <span key="r">
              {lines(
                rules.map(
                  (rule) => `${wordsOfRule(rule)}: ${nameOf.get(rule.selectorId) ?? 'archived selector'}`,
                ),
              )}
            </span>,
          ],
          ['Worth', wordsOfSpending(spending)],
          ['Expire', wordsOfExpiry(expiryMonths)],
          [
            'Tiers',
            <span key="t">
              {lines(
                tiers.map(({ name, points, segment }) =>
                  segment === undefined ? `${name}: ${formatNumber(points ?? 0)}` : `${name}: in ${segment}`,
                ),
              )}
            </span>,
          ],
        ]}
      />
    </Card>
  )
}

const Sums = ({ programmeKey: key }: { programmeKey: string }) => {
  const projectId = useProjectId()
  const ledger = useQuery({
    queryKey: [projectId, 'loyalty-ledger', key],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/loyalty-programmes/{key}/ledger', {
          params: { path: { projectId, key } },
        }),
      ),
  })
  const { data } = ledger
  return (
    <Card title="Points" description="What people have, and where it came from and went." padded>
      {data ? (
        <Facts
          rows={[
            ['Earned', formatNumber(data.earned)],
            ['Adjusted', formatNumber(data.adjusted)],
            ['Spent', formatNumber(data.spent)],
            ['Expired', formatNumber(data.expired)],
            ['Balance', <b key="b">{formatNumber(data.balance)}</b>],
          ]}
        />
      ) : ledger.error ? (
        <ErrorState error={ledger.error} retry={() => void ledger.refetch()} />
      ) : (
        <SkeletonLines />
      )}
    </Card>
  )
}

/** The movements of a programme, or of a person in it. */
export const Movements = ({ programmeKey: key, profileId }: { programmeKey: string; profileId?: string }) => {
  const projectId = useProjectId()
  const list = useList<PointMovement>([projectId, 'point-movements', key, profileId ?? ''], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/loyalty-programmes/{key}/movements', {
        params: {
          path: { projectId, key },
          query: { limit: 25, ...(profileId !== undefined && { profileId }), ...cursor },
        },
      }),
    ),
  )
  return (
    <DataTable
      label="Movements"
      list={list}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Movement',
          cell: ({ kind, createdAt, orderId }) => (
            <>
              <Status status={kind} />
              <NarrowLine>
                {orderId} <Time at={createdAt} as="ago" />
              </NarrowLine>
            </>
          ),
        },
        {
          title: 'Order or reason',
          wide: true,
          cell: ({ orderId, reason }) => (
            <>
              {orderId !== null && <span className="block max-w-48 truncate">{orderId}</span>}
              {reason !== null && <span className="block max-w-60 wrap-anywhere text-muted">{reason}</span>}
            </>
          ),
        },
        { title: 'Points', align: 'right', cell: ({ points }) => formatNumber(points) },
        {
          title: 'Expire',
          align: 'right',
          wide: true,
          cell: ({ expiresAt }) => (expiresAt === null ? '' : <Time at={expiresAt} as="day" />),
        },
        {
          title: 'Time',
          align: 'right',
          wide: true,
          cell: ({ createdAt }) => <Time at={createdAt} as="ago" />,
        },
      ]}
      empty={<EmptyState icon="coupons" title="No movements yet" />}
    />
  )
}
