import { type Static, Type } from 'typebox'
import { Id, JsonObject, NullableString, StringMap, Timestamp } from '../schema-parts.ts'
import { busyOrLate } from './analytics-parts.ts'
import { ConversionView } from './conversions.ts'
import { RetryAfterSeconds } from './error-bodies.ts'
import { EventView, MAX_FILTERS_LENGTH } from './events.ts'
import { Traits } from './identify.ts'
import { defineOperation } from './operation.ts'
import { equalTo, PageQuery, pageOf, pageParameters } from './page.ts'

/** The origin of a visit according to one event. */
export const Touch = Type.Object({
  /** When the event happened. */
  at: Timestamp,
  eventId: Type.String(),
  utm: Type.Object({
    source: NullableString,
    medium: NullableString,
    campaign: NullableString,
    term: NullableString,
    content: NullableString,
  }),
  clickIds: StringMap,
  referrer: NullableString,
  shortLinkId: NullableString,
  shortLinkCode: NullableString,
})
export type Touch = Static<typeof Touch>

const NullableTouch = Type.Unsafe<Touch | null>({ anyOf: [Touch, { type: 'null' }] })

/** A profile in the management API. */
export const ProfileView = Type.Object({
  id: Id,
  userId: NullableString,
  /** Its visitors, at most 1,000. */
  visitorIds: Type.Array(Type.String()),
  traits: Traits,
  firstTouch: NullableTouch,
  lastTouch: NullableTouch,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type ProfileView = Static<typeof ProfileView>

const ProfileQuery = Type.Object({
  ...pageParameters,
  userId: equalTo('The user.'),
  visitorId: equalTo('The visitor.'),
  search: equalTo('The id of a user, visitor or profile, or the beginning of the trait `email` in any case.'),
  filters: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: MAX_FILTERS_LENGTH,
      description:
        'A JSON list of filters of traits, such as `[{"property":"traits.plan","op":"eq","value":"pro"}]`.',
    }),
  ),
})
export type ProfileQuery = Static<typeof ProfileQuery>

export const listProfiles = defineOperation({
  id: 'listProfiles',
  method: 'get',
  path: '/api/projects/{projectId}/profiles',
  tag: 'Profiles',
  summary: 'Find profiles by id, email address or traits',
  description:
    'With `userId` or `visitorId` the list has at most one profile. Otherwise send `search`, `filters` or ' +
    'both, which must all match. The profile with the searched id comes first, then the others in the order of ' +
    'their ids. Traits can be found some seconds after they were set. A page may have fewer profiles than ' +
    '`limit`; continue with `nextCursor`. A search takes at most 3 s and counts as a query of the project.',
  access: { by: 'project', role: 'viewer' },
  query: ProfileQuery,
  answers: { 200: { description: 'A page of profiles', schema: pageOf(ProfileView) }, ...busyOrLate },
})

const one = '/api/projects/{projectId}/profiles/{id}'
const tag = 'Profiles'

export const getProfile = defineOperation({
  id: 'getProfile',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a profile',
  description: 'The id of a merged profile returns the profile that it was merged into.',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'The profile', schema: ProfileView } },
})

/** An entry of a person's timeline, by `type`. */
const TimelineEntry = Type.Object({
  type: Type.Unsafe<'event' | 'conversion' | 'identify'>({ enum: ['event', 'conversion', 'identify'] }),
  /** When it was received. */
  at: Timestamp,
  event: Type.Optional(EventView),
  conversion: Type.Optional(ConversionView),
  identify: Type.Optional(Type.Object({ visitorId: Type.String(), userId: NullableString })),
})
export type TimelineEntry = Static<typeof TimelineEntry>

export const getProfileTimeline = defineOperation({
  id: 'getProfileTimeline',
  method: 'get',
  path: `${one}/timeline`,
  tag,
  summary: 'List the timeline of a person',
  description:
    'Events, conversions and the identifies that linked visitors, with those of profiles that were merged into it.',
  access: { by: 'project', role: 'viewer' },
  query: PageQuery,
  answers: { 200: { description: 'A page, the last received first', schema: pageOf(TimelineEntry) } },
})

export const exportProfile = defineOperation({
  id: 'exportProfile',
  takesLong: true,
  method: 'post',
  path: `${one}/export`,
  tag,
  summary: 'Export everything that is stored about a person',
  description:
    'One object with a list for each kind of data. At most two exports per tenant and four in ' +
    'total run at the same time per process: then the latest of the tenant with the most is broken off for one ' +
    'with fewer. A client that accepts no data for 30 seconds is disconnected.',
  access: { by: 'project', role: 'admin' },
  effects: [],
  answers: {
    200: { description: 'The data', schema: JsonObject },
    429: { description: 'The maximum number of exports is running', schema: RetryAfterSeconds },
  },
})

const ErasureView = Type.Object({
  id: Id,
  profileId: Id,
  erasedAt: Timestamp,
  done: Type.Boolean({
    description: 'Whether all data is deleted. Otherwise the rest is deleted in the background.',
  }),
  inArchive: Type.Boolean({
    description:
      'Whether files of the archive may have events of the person. They are rewritten without them in the background, also once `done` is true.',
  }),
})

export const eraseProfile = defineOperation({
  id: 'eraseProfile',
  takesLong: true,
  method: 'delete',
  path: one,
  tag,
  summary: 'Erase a person from every store',
  description:
    'Records received before the erasure are no longer stored, also not by a replay. Later events belong to a new person. Conversions are kept without personal data. Files of the archive are rewritten without the events of the person.',
  access: { by: 'project', role: 'admin', tokens: false },
  effects: ['erasure'],
  answers: { 202: { description: 'The person is erased', schema: ErasureView } },
})

export const profileOperations = [listProfiles, getProfile, getProfileTimeline, exportProfile, eraseProfile]
