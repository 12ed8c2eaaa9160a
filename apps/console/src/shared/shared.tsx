import { useParams } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { AccountFrame } from '../account/frame.tsx'
import { useChange } from '../api/change.ts'
import { SharedPageContext } from '../api/shared.ts'
import { useUrlState } from '../api/url-state.ts'
import { tileClass, tileViews } from '../dashboards/tile.tsx'
import { Tiles } from '../dashboards/tiles.tsx'
import { RangeFields } from '../explore/common-fields.tsx'
import type { Kind } from '../explore/query-types.ts'
import { formatRange, parseRange, type Range } from '../explore/time-range.ts'
import { Badge } from '../ui/badge.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Form, Input } from '../ui/form.tsx'
import { formatNumber } from '../ui/format.tsx'
import { EmptyState, ErrorState, SkeletonBlock, SkeletonLines } from '../ui/states.tsx'
import { TableScope } from '../ui/table.tsx'
import { useWebState, WebChips, WebReport } from '../web/web.tsx'
import {
  hasEnded,
  isLocked,
  type SharedContent,
  type SharedInsight,
  type SharedLink,
  unlock,
  useShared,
  useSharedResult,
  useSharedWeb,
} from './use-shared.ts'

/** The page of a secret link: a dashboard or the web analytics, without people. */
export const Shared = () => {
  const { secret = '' } = useParams({ strict: false }) as { secret?: string }
  const [pass, setPass] = useState<string>()
  const link = useMemo(() => ({ secret, pass }), [secret, pass])
  const { data, error, refetch } = useShared(link)
  if (hasEnded(error)) return <Ended />
  if (isLocked(error)) return <PasswordForm secret={secret} onPass={setPass} />
  return (
    <SharedPageContext value={true}>
      <main id="content" className="mx-auto min-h-dvh w-full max-w-7xl px-4 py-6 sm:px-6">
        {data ? (
          data.kind === 'web' ? (
            <SharedWeb link={link} content={data} />
          ) : (
            <SharedDashboard link={link} content={data} />
          )
        ) : error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : (
          <SkeletonBlock className="h-96" />
        )}
      </main>
    </SharedPageContext>
  )
}

const Ended = () => (
  <AccountFrame title="This link does not work">
    <p>It has expired or was revoked, or it is not complete. Ask whoever sent it for a new one.</p>
  </AccountFrame>
)

const PasswordForm = ({ secret, onPass }: { secret: string; onPass: (pass: string) => void }) => {
  const open = useChange(({ password = '' }: Record<string, string>) => unlock(secret, password), {
    quiet: true,
    onDone: onPass,
  })
  return (
    <AccountFrame title="This link needs a password">
      <Form submit="Open" busy={open.isPending} error={open.error} onSubmit={(values) => open.mutate(values)}>
        <Input label="Password" name="password" type="password" required autoComplete="off" />
      </Form>
    </AccountFrame>
  )
}

type Props = { link: SharedLink; content: SharedContent }

const SharedWeb = ({ link, content: { name, goals } }: Props) => {
  const { range, filters, onToggle, set } = useWebState()
  const { data, error, refetch } = useSharedWeb(link, range, filters)
  const goalNames = useMemo(
    () => new Map(goals.map(({ selectorId, eventName }) => [selectorId, eventName])),
    [goals],
  )
  if (hasEnded(error)) return <Ended />
  return (
    <>
      <PageHeader
        title={name}
        aside={data && <Badge tone="neutral">{`${formatNumber(data.online)} online now`}</Badge>}
        actions={<RangeFields range={range} onChange={(next) => set(formatRange(next))} />}
      />
      <WebChips filters={filters} onToggle={onToggle} onClear={() => set({ filters: '' })} />
      {data ? (
        <WebReport data={data} filters={filters} onToggle={onToggle} goalNames={goalNames} />
      ) : error ? (
        <Card>
          <ErrorState error={error} retry={() => void refetch()} />
        </Card>
      ) : (
        <SkeletonBlock className="h-96" />
      )}
    </>
  )
}

const SharedDashboard = ({ link, content: { name, insights } }: Props) => {
  const [search, set] = useUrlState<'range' | 'from' | 'to'>()
  const range = parseRange(search)
  return (
    <>
      <PageHeader title={name} />
      {insights.length === 0 ? (
        <Card>
          <EmptyState icon="dashboards" title="Nothing on this dashboard yet" />
        </Card>
      ) : (
        <Tiles range={range} onRange={(next) => set(formatRange(next))}>
          {insights.map((insight) => (
            <li key={insight.id} className={tileClass}>
              <h2 className="px-4 pt-3.5 pb-2.5 font-semibold break-words">{insight.name}</h2>
              <TableScope value={insight.id}>
                <SharedResult link={link} kind={insight.kind} insight={insight} range={range} />
              </TableScope>
            </li>
          ))}
        </Tiles>
      )}
    </>
  )
}

const SharedResult = <K extends Kind>({
  link,
  kind,
  insight,
  range,
}: {
  link: SharedLink
  kind: K
  insight: SharedInsight
  range: Range | undefined
}) => {
  const { data, error, isFetching, refetch } = useSharedResult(link, kind, insight, range)
  if (error && !isFetching) return <ErrorState error={error} retry={() => void refetch()} />
  return data ? tileViews[kind](data) : <SkeletonLines />
}
