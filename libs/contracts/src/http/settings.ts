import { type Static, type TSchema, Type } from 'typebox'
import { type Approvals, areWeaker } from '../approvals.ts'
import { ProjectSettings } from '../project-settings.ts'
import { Timestamp } from '../schema-parts.ts'
import type { Change } from './effects.ts'
import { defineOperation } from './operation.ts'

/** A schema of settings in which null means the default, also in groups. */
const unsettable = (schema: TSchema): TSchema => {
  const { properties } = schema as { properties?: Record<string, TSchema> }
  if (!properties) return schema
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    { anyOf: [unsettable(member), { type: 'null' }] },
  ])
  return { ...schema, properties: Object.fromEntries(members) }
}
type Unsettable<T> = {
  [Name in keyof T]?:
    | (T[Name] extends unknown[] | undefined
        ? T[Name]
        : string extends keyof NonNullable<T[Name]>
          ? T[Name]
          : T[Name] extends object | undefined
            ? Unsettable<T[Name]>
            : T[Name])
    | null
}
/** Settings to change. Null unsets one. */
type SettingsPatch = Unsettable<Static<typeof ProjectSettings>>
const SettingsPatch = Type.Unsafe<SettingsPatch>(unsettable(ProjectSettings))

const daysOf = (days: unknown): number => (typeof days === 'number' ? days : Number.POSITIVE_INFINITY)

/** Whether a change of a setting in days removes what was kept so far. */
const shortens =
  (setting: 'retentionDays' | 'deduplicationDays') =>
  ({ body, before }: Change<SettingsPatch, unknown>): boolean =>
    daysOf(body[setting] ?? before[setting]) < daysOf(before[setting])

/** Whether a change of settings requires fewer approvals than the stored settings. */
export const weakensApprovals = (
  { approvals }: SettingsPatch,
  before: Readonly<Record<string, unknown>>,
): boolean =>
  approvals !== undefined && areWeaker(approvals ?? {}, (before.approvals as Approvals | undefined) ?? {})

const tag = 'Settings'
const path = '/api/projects/{projectId}/settings'

export const getSettings = defineOperation({
  id: 'getSettings',
  method: 'get',
  path,
  tag,
  summary: 'Read the settings that are not at their defaults',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'The settings', schema: ProjectSettings } },
})

export const updateSettings = defineOperation({
  id: 'updateSettings',
  method: 'patch',
  path,
  tag,
  summary: 'Replace the settings that the body names',
  description: 'Changes apply in every process within 5 seconds. Null resets a setting to its default.',
  access: { by: 'project', role: 'admin' },
  effects: [
    {
      effect: 'deletion',
      described: 'a shorter `retentionDays`',
      when: shortens('retentionDays'),
    },
    {
      effect: 'deletion',
      described: 'a shorter `deduplicationDays`',
      when: shortens('deduplicationDays'),
    },
    {
      effect: 'destination',
      described: '`archiveEvents: true`',
      when: ({ body, before }) => body.archiveEvents === true && before.archiveEvents !== true,
    },
    {
      effect: 'secret',
      described: 'another `identityVerification` than `required`',
      when: ({ body, before }) =>
        before.identityVerification === 'required' &&
        body.identityVerification !== undefined &&
        body.identityVerification !== 'required',
    },
    {
      effect: 'approval',
      described: 'weaker `approvals`',
      when: ({ body, before }) => weakensApprovals(body, before),
    },
  ],
  body: SettingsPatch,
  answers: { 200: { description: 'All settings', schema: ProjectSettings } },
})

const IdentitySecret = Type.Object({
  secret: Type.String({ description: 'The HMAC key as text. Keep it on servers.' }),
  createdAt: Timestamp,
})
const secretPath = '/api/projects/{projectId}/identity-secret'

export const getIdentitySecret = defineOperation({
  id: 'getIdentitySecret',
  method: 'get',
  path: secretPath,
  tag,
  summary: 'Read the secret that user hashes are computed with',
  description:
    '`userHash` is the HMAC-SHA-256 of the user id by this secret, as hex. The secret is created when it is first read.',
  access: { by: 'project', role: 'admin', tokens: false },
  effects: ['secret'],
  answers: { 200: { description: 'The secret', schema: IdentitySecret } },
})

export const rotateIdentitySecret = defineOperation({
  id: 'rotateIdentitySecret',
  method: 'post',
  path: `${secretPath}/rotate`,
  tag,
  summary: 'Replace the secret that user hashes are computed with',
  description: 'Every process refuses hashes of the old secret within 5 seconds.',
  access: { by: 'project', role: 'admin', tokens: false },
  effects: ['secret'],
  answers: { 200: { description: 'The new secret', schema: IdentitySecret } },
})

export const settingsOperations = [getSettings, updateSettings, getIdentitySecret, rotateIdentitySecret]
