import { type Static, Type } from 'typebox'
import type { AlertCondition, AlertInterval } from '../http/alerts.ts'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `audit.recorded.v1`: an entry of a project's audit log. */
export const AuditRecord = Type.Object({
  v: Type.Literal(1),
  id: Id,
  projectId: Id,
  actor: Type.Object({ kind: Type.String(), id: Type.String() }),
  /** The id of an operation. */
  operation: Type.String(),
  resourceId: NullableString,
  /** The names of the fields in the request. */
  fields: Type.Array(Type.String()),
  /** Why they did it. Only of operations that need a reason. */
  reason: Type.Optional(Type.String()),
  network: NullableString,
  requestId: NullableString,
  at: Timestamp,
})
export type AuditRecord = Static<typeof AuditRecord>

/** `profiles.changed.v1`: the traits of a profile changed, or it was merged. */
export const ChangedProfile = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  profileId: Id,
  /** The profile that this one was merged into. */
  mergedInto: NullableString,
  /** All current traits. */
  traits: Type.Record(Type.String(), Type.Unknown()),
  /** Increases with every change of the profile. */
  version: Type.Integer({ minimum: 1 }),
  changedAt: Timestamp,
})
export type ChangedProfile = Static<typeof ChangedProfile>

/** `decisions.changed.v1`: a decision was created or changed. Records of one decision keep their order. */
export const DecisionChange = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  decisionId: Id,
  decisionKey: Type.String(),
  /** The new version, or the present one when the record is about a proposal. The management API answers its definition. */
  version: Type.Integer(),
  /** What was done, such as `created`, `updated`, `activated`, `rolled_back`, `stopped` or `proposed`. */
  change: Type.String(),
  /** The status since then. */
  status: Type.String(),
  changedBy: Type.Object({ kind: Type.String(), id: Type.String() }),
  /** The proposal that it is about, which has made no version yet. */
  proposal: Type.Optional(Type.Object({ id: Id, revision: Type.Integer() })),
  /** Of a change by a guard: its figures. Of an approved proposal: its approvals. */
  evidence: Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: 'object' })),
  /** Why a person resumed it, or what they said of a proposal. */
  reason: Type.Optional(Type.String()),
  at: Timestamp,
})
export type DecisionChange = Static<typeof DecisionChange>

const NullableNumber = Type.Unsafe<number | null>({ type: ['number', 'null'] })

/** `alerts.changed.v1`: an alert began to fire, or that ended. Records of one alert keep their order. */
export const AlertChange = Type.Object({
  v: Type.Literal(1),
  /** Of this record. */
  id: Id,
  projectId: Id,
  alertId: Id,
  /** Of the alert. */
  name: Type.String(),
  /** A newer version may write others, which no webhook subscribes to. */
  change: Type.Unsafe<'fired' | 'resolved'>({ type: 'string' }),
  condition: Type.Unsafe<AlertCondition>({ type: 'object' }),
  interval: Type.Unsafe<AlertInterval>({ type: 'string' }),
  /** The beginning of the interval that was evaluated. */
  bucket: Timestamp,
  value: NullableNumber,
  /** What it was compared with. Null for a fixed value. */
  expected: NullableNumber,
  /** The change in percent, or the robust z-score. Null for a fixed value. */
  deviation: NullableNumber,
  at: Timestamp,
})
export type AlertChange = Static<typeof AlertChange>

/** `emails.sent.v1`: the mail server accepted an email, or it bounced. It has no address, so that an erasure is simple. */
export const EmailRecord = Type.Object({
  v: Type.Literal(1),
  /** A newer version may write others, which no webhook subscribes to. */
  kind: Type.Unsafe<'sent' | 'bounced'>({ type: 'string' }),
  /** Of this record: a delivery that is repeated by hand is sent twice. */
  id: Id,
  projectId: Id,
  deliveryId: Id,
  triggerId: Id,
  profileId: NullableString,
  at: Timestamp,
})
export type EmailRecord = Static<typeof EmailRecord>

/** `decisions.exposed.v1`: a person got a variant, for the first time on that day as far as the process knew. */
export const Exposure = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  decisionId: Id,
  decisionKey: Type.String(),
  /** The version of the decision. */
  version: Type.Integer(),
  /** The environment. Absent for production. */
  environment: Type.Optional(Type.String()),
  variant: Type.String(),
  reason: Type.String(),
  ruleId: NullableString,
  /** The subject that was hashed. */
  subject: Type.String(),
  /** The id that determined the subject; the other one is null. */
  visitorId: NullableString,
  userId: NullableString,
  /** The profile. Null when it was unknown; then the profile of the id is used when the exposure is stored. */
  profileId: NullableString,
  exposedAt: Timestamp,
})
export type Exposure = Static<typeof Exposure>

/** `links.clicked.v1`: a click on a short link. Subscribers deduplicate by `id`. */
export const LinkClick = Type.Object({
  v: Type.Literal(1),
  /** A UUIDv7, which the destination receives as `wm_click`. */
  id: Id,
  projectId: Id,
  linkId: Id,
  code: Type.String(),
  clickedAt: Timestamp,
  /** The address as the project stores it. Default: its network. */
  ip: NullableString,
  userAgent: NullableString,
  country: NullableString,
  referrer: NullableString,
  bot: Type.Boolean(),
  /** Whether a browser prefetched the link. */
  prefetch: Type.Boolean(),
  /** A hash of the visitor that is valid for one day. It cannot be traced back after the salt of the day is deleted. */
  visitor: NullableString,
  /** The key of the variant that the click led to. Absent without one. */
  variant: Type.Optional(Type.String()),
})
export type LinkClick = Static<typeof LinkClick>
