import type { ReactNode } from 'react'

type Tone = 'neutral' | 'good' | 'warning' | 'danger' | 'info'

const TONES: Record<Tone, string> = {
  neutral: 'bg-subtle text-muted',
  good: 'bg-accent-soft text-accent-text',
  warning: 'bg-warning-soft text-warning',
  danger: 'bg-danger-soft text-danger',
  info: 'bg-info-soft text-info',
}

export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) => (
  <span
    className={`inline-flex max-w-full items-center rounded-md px-1.5 py-0.5 text-[0.86rem] leading-tight font-medium whitespace-nowrap ${TONES[tone]}`}
  >
    <span className="truncate">{children}</span>
  </span>
)

/** Whether a domain is verified. */
export const Verification = ({ verifiedAt }: { verifiedAt: string | null }) => (
  <Badge tone={verifiedAt === null ? 'warning' : 'good'}>
    {verifiedAt === null ? 'not verified' : 'verified'}
  </Badge>
)

const STATUS_TONES: Record<string, Tone> = {
  active: 'good',
  ready: 'good',
  sent: 'good',
  delivered: 'good',
  verified: 'good',
  accepted: 'good',
  available: 'good',
  applied: 'good',
  open: 'info',
  generating: 'info',
  pending: 'info',
  sending: 'info',
  assigned: 'info',
  redeemed: 'info',
  paused: 'warning',
  cooldown: 'warning',
  suppressed: 'warning',
  unconfirmed: 'warning',
  skipped_no_email: 'warning',
  failed: 'danger',
  rejected: 'danger',
  bounced: 'danger',
  revoked: 'danger',
  expired: 'danger',
}

const LABELS: Record<string, string> = { skipped_no_email: 'no email address' }

export const Status = ({ status }: { status: string }) => (
  <Badge tone={STATUS_TONES[status] ?? 'neutral'}>{LABELS[status] ?? status.replaceAll('_', ' ')}</Badge>
)
