import { type Static, Type } from 'typebox'
import { Approvals } from './approvals.ts'
import { notBlank } from './schema-parts.ts'
import { compileValidator } from './validator.ts'

/** How events are validated against their definitions. */
export const ValidationMode = Type.Enum(['off', 'warn', 'enforce'])
export type ValidationMode = Static<typeof ValidationMode>

/** What is stored of an IP address: all of it, its network (/24, /48), or nothing. */
export const IpStorage = Type.Enum(['keep', 'truncate', 'drop'])
export type IpStorage = Static<typeof IpStorage>

/** The settings of a project. Missing ones have their defaults. */
export const ProjectSettings = Type.Object(
  {
    ingestValidation: Type.Optional(
      Type.Object(
        {
          mode: Type.Optional(ValidationMode),
          rejectUnknownEvents: Type.Optional(
            Type.Boolean({ description: 'In enforce mode, refuse events that have no definition.' }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    ipStorage: Type.Optional(IpStorage),
    retentionDays: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3_650,
        description:
          'Days (UTC) after which events are removed, by their `timestamp`. Removed events do not come back when this ' +
          'is increased. For ever unless set.',
      }),
    ),
    deduplicationDays: Type.Optional(
      Type.Integer({
        minimum: 30,
        maximum: 3_650,
        description:
          'Days after which the ids of events may be forgotten. An event that is sent again with a forgotten id is a ' +
          'new event. For ever unless set.',
      }),
    ),
    archiveEvents: Type.Optional(
      Type.Boolean({
        description:
          'Whether events that are stored from now on are also written to the archive of the deployment; they are not ' +
          'unless this is true.',
      }),
    ),
    deniedTraits: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64, ...notBlank }), {
        maxItems: 100,
        description: 'Traits that are never stored.',
      }),
    ),
    identityVerification: Type.Optional(
      Type.Union([Type.Literal('optional'), Type.Literal('required')], {
        description:
          'Whether identify and profile calls with a `pub` key must carry a `userHash` when they name a `userId`; ' +
          'they may unless this is `required`.',
      }),
    ),
    identifyEvents: Type.Optional(
      Type.Boolean({
        description:
          'Whether an `identify` call of an SDK of Segment’s protocol also stores an event `identify` with the traits; ' +
          'it does not unless this is true.',
      }),
    ),
    approvals: Type.Optional(Approvals),
    staleMails: Type.Optional(
      Type.Boolean({
        description:
          'Whether a weekly email lists stale decisions to their owners; it does unless this is false.',
      }),
    ),
    ingestRequestsPerMinute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Requests to `/api/v1/t` per client address.',
      }),
    ),
    links: Type.Optional(
      Type.Object(
        {
          appendClickId: Type.Optional(
            Type.Boolean({
              description: 'Whether destinations get `wm_click`; they do unless this is false.',
            }),
          ),
          attributionWindowDays: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 365,
              description: 'How long after a click a conversion is attributed to its link; 30 unless set.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type ProjectSettings = Static<typeof ProjectSettings>

const projectSettings = compileValidator(ProjectSettings)

/**
 * The stored settings that this version knows. During an upgrade, a newer one may have stored a setting, or a value of
 * one, that this one does not know: it is left out, and has its default.
 */
export const knownSettings = (stored: unknown): ProjectSettings => {
  const fitting = membersOf(stored).map(([name, value]) => {
    const fits = (part: unknown): boolean => projectSettings.fits({ [name]: part })
    return [name, fits(value) ? value : membersThat(value, ([member, part]) => fits({ [member]: part }))]
  })
  return membersThat(Object.fromEntries(fitting), ([name, value]) => projectSettings.fits({ [name]: value }))
}

type Member = [name: string, value: unknown]

const membersOf = (value: unknown): Member[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []

const membersThat = (value: unknown, isWanted: (member: Member) => boolean): Record<string, unknown> =>
  Object.fromEntries(membersOf(value).filter(isWanted))
