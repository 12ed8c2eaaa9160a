import type { paths } from '../generated/api.d.ts'

type Json<R> = R extends { content: { 'application/json': infer T } } ? T : never
type Ok<O> = O extends { responses: infer R } ? (200 extends keyof R ? Json<R[200]> : never) : never
type Page<P extends keyof paths> = paths[P] extends { get: infer O } ? Ok<O> : never
type Item<P extends keyof paths> = Page<P> extends { data: (infer T)[] } ? T : never

export type Account = Page<'/api/auth/me'>
export type Project = Account['projects'][number]
export type Role = NonNullable<Project['role']>
export type WaymarkEvent = Item<'/api/projects/{projectId}/events'>
export type Profile = Item<'/api/projects/{projectId}/profiles'>
export type TimelineEntry = Item<'/api/projects/{projectId}/profiles/{id}/timeline'>
export type EventDefinition = Item<'/api/projects/{projectId}/event-definitions'>
export type RejectedEvent = Item<'/api/projects/{projectId}/rejected-events'>
export type DeadLetter = Item<'/api/projects/{projectId}/dead-letters'>
export type Link = Item<'/api/projects/{projectId}/links'>
export type LinkStats = Page<'/api/projects/{projectId}/links/{id}/stats'>
export type CouponPool = Item<'/api/projects/{projectId}/coupon-pools'>
export type Coupon = Item<'/api/projects/{projectId}/coupons'>
export type Redemption = Item<'/api/projects/{projectId}/redemptions'>
export type Decision = Item<'/api/projects/{projectId}/decisions'>
export type DecisionVersion = Item<'/api/projects/{projectId}/decisions/{key}/history'>
export type EmailTrigger = Item<'/api/projects/{projectId}/email-triggers'>
export type EmailDelivery = Item<'/api/projects/{projectId}/email-deliveries'>
export type Suppression = Item<'/api/projects/{projectId}/suppressions'>
export type EmailSender = Item<'/api/projects/{projectId}/email-senders'>
export type ApiKey = Item<'/api/projects/{projectId}/api-keys'>
export type ApiKeyScope = ApiKey['scopes'][number]
export type MeteringSelector = Item<'/api/projects/{projectId}/metering-selectors'>
export type Member = Item<'/api/projects/{projectId}/members'>
export type Invitation = Item<'/api/projects/{projectId}/invitations'>
export type AuditEntry = Item<'/api/projects/{projectId}/audit-log'>
export type Session = Item<'/api/auth/sessions'>
export type Settings = Page<'/api/projects/{projectId}/settings'>
export type Stats = Page<'/api/projects/{projectId}/stats'>
export type Insight = Item<'/api/projects/{projectId}/insights'>
export type Dashboard = Item<'/api/projects/{projectId}/dashboards'>
