import { type Static, Type } from 'typebox'
import { Id, NullableString, StringMap, Timestamp } from '../schema-parts.ts'
import { Traits } from './identify.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf } from './page.ts'

/** Where a person came from at one time, as one event tells it. */
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

/** A profile as the management API shows it. */
export const ProfileView = Type.Object({
  id: Id,
  userId: NullableString,
  /** Visitors that belong to it now, at most 1,000. */
  visitorIds: Type.Array(Type.String()),
  traits: Traits,
  firstTouch: NullableTouch,
  lastTouch: NullableTouch,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type ProfileView = Static<typeof ProfileView>

const ProfileQuery = Type.Object({ userId: equalTo('The user.'), visitorId: equalTo('The visitor.') })
export type ProfileQuery = Static<typeof ProfileQuery>

export const listProfiles = defineOperation({
  id: 'listProfiles',
  method: 'get',
  path: '/api/projects/{projectId}/profiles',
  tag: 'Profiles',
  summary: 'Find the profile that a user or a visitor belongs to',
  description: 'Exactly one of the two parameters is needed. The list has one profile, or none.',
  access: { by: 'project', role: 'viewer' },
  query: ProfileQuery,
  answers: { 200: { description: 'The profile', schema: pageOf(ProfileView) } },
})

export const profileOperations = [listProfiles]
