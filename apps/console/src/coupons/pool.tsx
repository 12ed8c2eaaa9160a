import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { Status } from '../ui/badge.tsx'
import { Button, buttonClass, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { CopyButton } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'
import { formatNumber, formatPercent, Time } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { formatMoney } from '../ui/money.ts'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { Notice } from '../ui/states.tsx'
import { AssignCode } from './assign-code.tsx'
import { PoolMovements } from './card-movements.tsx'
import { Codes } from './codes.tsx'
import { formatDiscount } from './discount.ts'
import { GiftCardSheet, useOpenCard } from './gift-card.tsx'
import { ImportCodes } from './import-codes.tsx'
import { PoolAccounts } from './pool-accounts.tsx'
import { PoolForm } from './pool-form.tsx'
import { PoolTerms } from './pool-terms.tsx'
import { Redemptions } from './redemptions.tsx'

/** One pool, its codes and redemptions. */
export const Pool = () => {
  const projectId = useProjectId()
  const { id } = useParams({ strict: false }) as { id: string }
  const params = { path: { projectId, id } }
  const [dialog, openDialog, close] = useUrlDialog<'edit' | 'assign' | 'top-up' | 'import'>('editor')
  const [card, openCard, closeCard] = useOpenCard()
  const pool = useQuery({
    queryKey: [projectId, 'pool', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/coupon-pools/{id}', { params })),
    refetchInterval: ({ state }) =>
      state.data && (state.data.status === 'generating' || state.data.generated < state.data.size)
        ? 1_000
        : false,
  })
  const topUp = useChange(
    (count: number) =>
      unwrap(api.POST('/api/projects/{projectId}/coupon-pools/{id}/top-up', { params, body: { count } })),
    { done: 'More codes are being generated', quiet: true, onDone: close },
  )
  const archive = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/coupon-pools/{id}', { params })),
    {
      done: 'Pool archived',
      quiet: true,
    },
  )
  const back = { to: '/p/$projectId/coupons', params: { projectId }, label: 'Coupons' } as const
  if (!pool.data) return <PageWithoutData title="Pool" back={back} query={pool} />
  const {
    name,
    kind,
    status,
    failure,
    code,
    size,
    generated,
    redeemed,
    held,
    discount,
    amount,
    currency,
    startsAt,
    expiresAt,
    perProfileLimit,
    maxRedemptions,
  } = pool.data
  const isUnique = kind === 'unique'
  const isAutomatic = kind === 'automatic'
  const isCards = kind === 'balance'
  const growing = generated < size
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        aside={<Status status={status} />}
        actions={
          <>
            {!isAutomatic && (
              <a
                href={`/api/projects/${projectId}/coupon-pools/${id}/export`}
                download={`${name}.csv`}
                className={buttonClass()}
              >
                <Icon name="download" /> Export CSV
              </a>
            )}
            {status !== 'archived' && (
              <For atLeast="editor">
                <Button onClick={() => openDialog('edit')}>Edit</Button>
                {isUnique && (
                  <Button icon="user" onClick={() => openDialog('assign')}>
                    Assign
                  </Button>
                )}
                {(isUnique || isCards) && (
                  <>
                    <Button icon="upload" onClick={() => openDialog('import')}>
                      Import
                    </Button>
                    <Button icon="plus" onClick={() => openDialog('top-up')}>
                      {isCards ? 'Add cards' : 'Top up'}
                    </Button>
                  </>
                )}
                <ConfirmButton
                  label="Archive"
                  title={`Archive ${name}?`}
                  confirm="Archive"
                  onConfirm={() => archive.mutateAsync()}
                >
                  {isAutomatic
                    ? 'It no longer applies to carts from then on.'
                    : 'Its codes are refused as expired from then on.'}
                </ConfirmButton>
              </For>
            )}
          </>
        }
      />
      {failure && (
        <div className="mb-4">
          <Notice tone="danger">{failure}</Notice>
        </div>
      )}
      <div className="grid gap-4 lg:grid-cols-3">
        <Card title="Pool" padded className="self-start">
          {growing && (
            <div className="mb-4 flex flex-col gap-1">
              <span id="progress" className="text-muted">
                {formatNumber(generated)} of {formatNumber(size)} codes generated
              </span>
              <progress
                aria-labelledby="progress"
                value={generated}
                max={size}
                className="h-2 w-full accent-accent"
              />
            </div>
          )}
          <Facts
            rows={[
              ...(code
                ? [
                    [
                      'Code',
                      <span key="c" className="inline-flex items-center gap-2 font-mono">
                        {code} <CopyButton text={code} />
                      </span>,
                    ] as const,
                  ]
                : []),
              ...(isCards
                ? ([
                    ['Each new card', formatMoney(amount ?? 0, currency ?? '')],
                    ['Gift cards', formatNumber(generated)],
                  ] as const)
                : ([
                    ['Discount', formatDiscount(discount)],
                    ['Codes', isAutomatic ? 'none: it applies by itself' : formatNumber(generated)],
                    [
                      'Redeemed',
                      `${formatNumber(redeemed)}${generated > 0 && isUnique ? ` (${formatPercent(redeemed / generated)})` : ''}`,
                    ],
                  ] as const)),
              ['Held by carts', formatNumber(held)],
              ['Starts', <Time key="s" at={startsAt} />],
              ['Expires', <Time key="e" at={expiresAt} />],
              ...(isCards
                ? []
                : ([
                    ['Per person', perProfileLimit === null ? 'no limit' : formatNumber(perProfileLimit)],
                    ['At most', maxRedemptions === null ? 'no limit' : formatNumber(maxRedemptions)],
                  ] as const)),
            ]}
          />
        </Card>
        <div className="flex min-w-0 flex-col gap-4 lg:col-span-2">
          {isCards ? (
            <>
              <PoolAccounts poolId={id} growing={growing} />
              <Codes poolId={id} growing={growing} onOpenCard={openCard} />
              <Card title="Movements">
                <PoolMovements poolId={id} growing={growing} onOpen={openCard} />
              </Card>
              <GiftCardSheet id={card} onClose={closeCard} />
            </>
          ) : (
            <>
              <PoolTerms pool={pool.data} />
              <Card title="Redemptions">
                <Redemptions poolId={id} />
              </Card>
              {isUnique && <Codes poolId={id} growing={growing} />}
            </>
          )}
        </div>
      </div>
      <Modal open={dialog === 'edit'} onClose={close} title={`Edit ${name}`}>
        <PoolForm pool={pool.data} onDone={close} onCancel={close} />
      </Modal>
      <Modal open={dialog === 'assign'} onClose={close} title="Assign a code">
        <AssignCode poolId={id} />
      </Modal>
      <Modal open={dialog === 'top-up'} onClose={close} title={isCards ? 'Add cards' : 'Top up'}>
        <Form
          submit="Generate"
          busy={topUp.isPending}
          error={topUp.error}
          onCancel={close}
          onSubmit={({ count }) => topUp.mutate(Number(count))}
        >
          <Input
            label={isCards ? 'How many more cards' : 'How many more codes'}
            name="count"
            type="number"
            min={1}
            required
            defaultValue={1000}
          />
        </Form>
      </Modal>
      <Modal
        open={dialog === 'import'}
        onClose={close}
        title={isCards ? 'Import gift cards' : 'Import codes'}
      >
        <ImportCodes poolId={id} isCards={isCards} />
      </Modal>
    </>
  )
}
