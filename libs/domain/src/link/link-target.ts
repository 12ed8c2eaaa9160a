import type { LinkTarget } from '@waymark/contracts/http/links'
import type { UserAgent } from '../enrichment/user-agent.ts'

/** A visitor who follows a link. `null` means unknown. */
export type LinkVisitor = { device: string | null; os: string | null; country: string | null }
type Conditions = Omit<LinkTarget, 'destination'>

const OS_NAMES: readonly [RegExp, NonNullable<Conditions['os']>][] = [
  [/^android/i, 'android'],
  [/^ios/i, 'ios'],
  [/^(?:macos|mac os)/i, 'macos'],
  [/^windows/i, 'windows'],
  [/^(?:linux|ubuntu|debian|fedora|chrom(?:e|ium) os)/i, 'linux'],
]

/** A visitor in the terms of target conditions. */
export const describeVisitor = (agent: UserAgent, country: string | null): LinkVisitor => ({
  device: agent.device,
  os: OS_NAMES.find(([name]) => name.test(agent.os ?? ''))?.[1] ?? null,
  country,
})

/** Whether a visitor matches all conditions of a target. */
export const fitsTarget = ({ device, os, country }: Conditions, visitor: LinkVisitor): boolean =>
  (device === undefined || device === visitor.device) &&
  (os === undefined || os === visitor.os) &&
  (country === undefined || country === visitor.country)
