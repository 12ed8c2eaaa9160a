import { type Static, Type } from 'typebox'
import { CURRENCY_DESCRIPTION } from '../currency.ts'
import { DecisionKey } from '../decision-definition.ts'
import {
  MAX_POINTS,
  type PointMovementKind,
  type ProgrammeStatus,
  pointMovementKinds,
  programmeStatuses,
} from '../loyalty.ts'
import { Id, Name, NullableString, NullableTimestamp, PRINTABLE, Timestamp } from '../schema-parts.ts'
import { nullable } from './coupon-views.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { equalTo, PageQuery, pageOf, pageParameters } from './page.ts'

/** Maximum earning rules and tiers of a programme. */
export const MAX_EARNING_RULES = 20
export const MAX_TIERS = 20
const MAX_EXPIRY_MONTHS = 120

const Points = (description: string) => Type.Integer({ minimum: 1, maximum: MAX_POINTS, description })
const Currency = Type.String({ format: 'currency', description: CURRENCY_DESCRIPTION })

const Rule = Type.Object({
  selectorId: Type.String({
    ...Id,
    description: 'A metering selector: the event, its condition, and where its amount is.',
  }),
  points: Points('The points of a conversion, or of each `perAmount`.'),
  perAmount: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_POINTS,
      description:
        'The minor units of the amount that earn `points`: `points * amount / perAmount`, rounded down. Requires `currency`.',
    }),
  ),
  currency: Type.Optional(
    Type.String({ ...Currency, description: 'Conversions in another currency earn nothing by this rule.' }),
  ),
  orderProperty: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The property of the event with the id of its order. Default: `orderId`.',
    }),
  ),
})
const Spending = Type.Object({
  points: Points('So many points are worth `amount`.'),
  amount: Type.Integer({ minimum: 1, maximum: MAX_POINTS, description: 'In minor units of the currency.' }),
  currency: Currency,
  minimum: Type.Optional(Points('An order spends at least so many points.')),
})
const TierSchema = Type.Object({
  key: DecisionKey,
  name: Name,
  points: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'For people who have earned so many points, also if they have spent them.',
    }),
  ),
  segment: Type.Optional(
    Type.String({ ...DecisionKey, description: 'For people in this segment, instead of `points`.' }),
  ),
})
const Status = Type.Unsafe<'active' | 'paused'>({
  type: 'string',
  enum: ['active', 'paused'],
  description: 'A paused programme neither earns nor spends points. Default: `active`.',
})
const terms = {
  name: Name,
  rules: Type.Array(Rule, {
    maxItems: MAX_EARNING_RULES,
    description: 'Which conversions earn points. An event earns the sum of all rules that it fits.',
  }),
  expiryMonths: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 1,
    maximum: MAX_EXPIRY_MONTHS,
    description: 'After how many months points expire. Null: never. Applies to points that are earned later.',
  }),
  spending: nullable<Static<typeof Spending>>(Spending),
  tiers: Type.Array(TierSchema, {
    maxItems: MAX_TIERS,
    description: 'From the lowest to the highest. A person has the last one that they reach.',
  }),
}
const NewProgramme = Type.Object({
  key: DecisionKey,
  name: terms.name,
  status: Type.Optional(Status),
  rules: Type.Optional(terms.rules),
  expiryMonths: Type.Optional(terms.expiryMonths),
  spending: Type.Optional(terms.spending),
  tiers: Type.Optional(terms.tiers),
})
export type NewProgramme = Static<typeof NewProgramme>
const ProgrammePatch = Type.Partial(Type.Object({ ...terms, status: Status }))
export type ProgrammePatch = Static<typeof ProgrammePatch>

export const ProgrammeView = Type.Object({
  id: Id,
  key: Type.String(),
  ...terms,
  status: Type.Unsafe<ProgrammeStatus>({ type: 'string', enum: [...programmeStatuses] }),
  version: Type.Integer({ description: 'The number of changes.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type ProgrammeView = Static<typeof ProgrammeView>

/** Whose account it is: exactly one of the ids. */
const person = {
  userId: equalTo('The person by their user id.'),
  visitorId: equalTo('The person by a visitor id.'),
  profileId: Type.Optional(Type.String({ ...Id, description: 'The person by the id of their profile.' })),
}
const PersonQuery = Type.Object(person)
export type PersonOfPoints = Static<typeof PersonQuery>

const NextExpiry = Type.Object(
  { points: Type.Integer(), at: Timestamp },
  { description: 'The points that expire next; null when none do.' },
)
const ReachedTier = Type.Object(
  { key: Type.String(), name: Type.String() },
  { description: 'The highest tier that the person reaches; null when there is none.' },
)
const balances = {
  balance: Type.Integer({ description: 'The points that can be spent, without those that have expired.' }),
  earned: Type.Integer({ description: 'All points that were earned, without what was reversed.' }),
  nextExpiry: nullable<Static<typeof NextExpiry>>(NextExpiry),
  tier: nullable<Static<typeof ReachedTier>>(ReachedTier),
}
export const PointAccountView = Type.Object({
  programmeKey: Type.String(),
  programmeName: Type.String(),
  ...balances,
})
export type PointAccountView = Static<typeof PointAccountView>

export const PointMovementView = Type.Object({
  id: Id,
  kind: Type.Unsafe<PointMovementKind>({
    type: 'string',
    enum: [...pointMovementKinds],
    description: '`reversed`: of an order; `adjusted`: by a member or a key; `expired`: at their end.',
  }),
  points: Type.Integer({ description: 'What was moved: below 0 if it left people.' }),
  orderId: NullableString,
  amount: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'What spent points were worth, in minor units.',
  }),
  currency: NullableString,
  shortfall: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'Points that a reversal could not take back, because they were spent.',
  }),
  reason: NullableString,
  occurredAt: Timestamp,
  expiresAt: NullableTimestamp,
  createdAt: Timestamp,
})
export type PointMovementView = Static<typeof PointMovementView>

const MovementsQuery = Type.Object({ ...pageParameters, ...person, orderId: equalTo('Those of one order.') })
const OrderId = Type.String({ minLength: 1, maxLength: 200, ...PRINTABLE })
const Reason = Type.Optional(
  Type.String({ maxLength: 500, description: 'Shown with the movement. Not for personal data.' }),
)

const tag = 'Loyalty'
const collection = '/api/projects/{projectId}/loyalty-programmes'
const one = `${collection}/{key}`
const programme = { description: 'The programme', schema: ProgrammeView }
const editor = { by: 'project', role: 'editor' } as const
const viewer = { by: 'project', role: 'viewer' } as const

export const createLoyaltyProgramme = defineOperation({
  id: 'createLoyaltyProgramme',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create a loyalty programme',
  description: 'Conversions that are received from now on earn points by its rules.',
  access: editor,
  effects: [],
  body: NewProgramme,
  answers: { 201: programme },
})

export const listLoyaltyProgrammes = defineOperation({
  id: 'listLoyaltyProgrammes',
  method: 'get',
  path: collection,
  tag,
  summary: 'List loyalty programmes',
  access: viewer,
  query: PageQuery,
  answers: { 200: { description: 'A page of programmes, the newest first', schema: pageOf(ProgrammeView) } },
})

export const getLoyaltyProgramme = defineOperation({
  id: 'getLoyaltyProgramme',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a loyalty programme',
  access: viewer,
  answers: { 200: programme },
})

export const updateLoyaltyProgramme = defineOperation({
  id: 'updateLoyaltyProgramme',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change a loyalty programme',
  description:
    'Points that people have, and when they expire, do not change. An archived programme cannot change.',
  access: editor,
  effects: [],
  body: ProgrammePatch,
  answers: { 200: programme, 409: { description: 'The programme is archived', schema: ErrorBody } },
})

export const archiveLoyaltyProgramme = defineOperation({
  id: 'archiveLoyaltyProgramme',
  method: 'delete',
  path: one,
  tag,
  summary: 'Archive a loyalty programme',
  description:
    'It neither earns nor spends points any more. Its ledger stays, and its key is not used again.',
  access: editor,
  effects: [],
  answers: { 204: { description: 'Archived' } },
})

export const getLoyaltyLedger = defineOperation({
  id: 'getLoyaltyLedger',
  method: 'get',
  path: `${one}/ledger`,
  tag,
  summary: 'Read the sums of a loyalty programme',
  description: '`balance = earned + adjusted - spent - expired`.',
  access: viewer,
  answers: {
    200: {
      description: 'The sums, in points',
      schema: Type.Object({
        balance: Type.Integer({
          description: 'What all people have, with what expires within the next minute.',
        }),
        earned: Type.Integer({ description: 'What was earned, without what was reversed.' }),
        adjusted: Type.Integer({ description: 'What was added, without what was taken.' }),
        spent: Type.Integer({ description: 'What was spent, without what was returned.' }),
        expired: Type.Integer(),
      }),
    },
  },
})

export const getPointAccount = defineOperation({
  id: 'getPointAccount',
  method: 'get',
  path: `${one}/account`,
  tag,
  summary: 'Read the points of a person',
  description:
    'Of the person with a `userId`, a `visitorId` or a `profileId`. A person without points has 0.',
  access: viewer,
  query: PersonQuery,
  answers: { 200: { description: 'The account', schema: PointAccountView } },
})

export const listPointAccounts = defineOperation({
  id: 'listPointAccounts',
  method: 'get',
  path: '/api/projects/{projectId}/profiles/{id}/points',
  tag,
  summary: 'Read the points of a profile in all programmes',
  access: viewer,
  answers: {
    200: {
      description: 'One account for each programme in which the person has had points',
      schema: Type.Object({ data: Type.Array(PointAccountView) }),
    },
  },
})

export const listPointMovements = defineOperation({
  id: 'listPointMovements',
  method: 'get',
  path: `${one}/movements`,
  tag,
  summary: 'List the movements of points',
  description:
    'Of a person, of an order or of all. `points` is what a movement changed: of the person, if one is named.',
  access: viewer,
  query: MovementsQuery,
  answers: {
    200: { description: 'A page of movements, the newest first', schema: pageOf(PointMovementView) },
  },
})

export const adjustPoints = defineOperation({
  id: 'adjustPoints',
  method: 'post',
  path: `${one}/adjust`,
  tag,
  summary: 'Add or take points',
  description: 'Added points expire as earned ones, and do not count for tiers. The oldest points are taken.',
  access: editor,
  effects: [],
  body: Type.Object({
    ...person,
    points: Type.Integer({
      minimum: -MAX_POINTS,
      maximum: MAX_POINTS,
      description: 'Below 0: what is taken. Not 0.',
    }),
    key: Type.String({
      minLength: 1,
      maxLength: 200,
      ...PRINTABLE,
      description:
        'A key of your own, unique per movement. A repeat with it moves nothing and answers the same account. Another request ' +
        'with it gets 409.',
    }),
    reason: Reason,
  }),
  answers: {
    200: { description: 'The account', schema: PointAccountView },
    409: {
      description:
        'The person has too few points, the key belongs to another request, or the programme is archived',
      schema: Type.Object({
        error: Type.String(),
        reason: Type.Unsafe<'insufficient_points' | 'key_reused' | 'archived'>({
          type: 'string',
          enum: ['insufficient_points', 'key_reused', 'archived'],
        }),
      }),
    },
  },
})

export const reverseOrderPoints = defineOperation({
  id: 'reverseOrderPoints',
  method: 'post',
  path: '/api/projects/{projectId}/loyalty-orders/reverse',
  tag,
  summary: 'Reverse the points of an order',
  description:
    'Takes back what the order earned in all programmes, and returns what it spent. Points that were spent meanwhile are not ' +
    'taken back: a balance is never below 0. The order earns and spends nothing afterwards, also if its events come later. A ' +
    'repeat moves nothing.',
  access: editor,
  effects: [],
  body: Type.Object({ orderId: OrderId, reason: Reason }),
  answers: {
    200: {
      description: 'What was moved now',
      schema: Type.Object({
        programmes: Type.Array(
          Type.Object({
            programmeId: Id,
            earned: Type.Integer({ description: 'Points that were taken back.' }),
            spent: Type.Integer({ description: 'Points that were returned.' }),
            shortfall: Type.Integer({
              description: 'Points that were not taken back, because they were spent.',
            }),
          }),
        ),
      }),
    },
  },
})

export const loyaltyOperations = [
  createLoyaltyProgramme,
  listLoyaltyProgrammes,
  getLoyaltyProgramme,
  updateLoyaltyProgramme,
  archiveLoyaltyProgramme,
  getLoyaltyLedger,
  getPointAccount,
  listPointAccounts,
  listPointMovements,
  adjustPoints,
  reverseOrderPoints,
]
