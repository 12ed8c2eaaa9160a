import type { Subscription } from '../api/types.ts'
import { Badge } from '../ui/badge.tsx'
import { formatCount } from '../ui/format.tsx'

const DAYS = { day: 'Every day', week: 'On Mondays', month: 'On the first of the month' } as const

/** When a subscription is sent. */
export const scheduleText = ({
  frequency,
  hour,
  timeZone,
}: Pick<Subscription, 'frequency' | 'hour' | 'timeZone'>): string =>
  `${DAYS[frequency]} at ${`${hour}`.padStart(2, '0')}:00, ${timeZone}`

type Status = NonNullable<Subscription['last']>['mails'][number]['status']

export const STATUS_TONES: Readonly<Record<Status, 'good' | 'warning' | 'danger' | 'neutral'>> = {
  pending: 'neutral',
  sent: 'good',
  unconfirmed: 'warning',
  failed: 'danger',
  skipped: 'neutral',
}

/** To how many the newest email was sent, and whether something is wrong. */
export const LastResult = ({ subscription: { last, problem } }: { subscription: Subscription }) => {
  const sent = last?.mails.filter(({ status }) => status === 'sent').length ?? 0
  const failed = last?.mails.filter(({ status }) => status === 'failed').length ?? 0
  return (
    <span className="inline-flex flex-wrap gap-1">
      {last === null ? (
        <Badge>not sent yet</Badge>
      ) : (
        <Badge tone={sent > 0 ? 'good' : 'neutral'}>sent to {formatCount(sent, 'member')}</Badge>
      )}
      {failed > 0 && <Badge tone="danger">{failed} failed</Badge>}
      {problem !== null && <Badge tone="warning">problem</Badge>}
    </span>
  )
}
