import { type Static, Type } from 'typebox'
import { compileValidator } from '../validator.ts'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

/** Maximum reports and bytes of a request. */
const MAX_BOUNCES = 1_000
export const MAX_BOUNCES_BODY_BYTES = 1024 * 1024

const tag = 'Email feedback'
const page = { description: 'A page for people', contentTypes: ['text/html'] }
const unknownLink = { description: 'The link is not valid', schema: ErrorBody }
const storeAway = { description: 'The database does not answer; repeat later', schema: RetryAfter }

export const showUnsubscribe = defineOperation({
  id: 'showUnsubscribe',
  method: 'get',
  path: '/u/{token}',
  tag,
  summary: 'Show the page that unsubscribes',
  description: 'This request changes nothing, because mail scanners follow links.',
  access: { by: 'anyone' },
  answers: { 200: page, 404: unknownLink, 503: storeAway },
})

export const unsubscribe = defineOperation({
  id: 'unsubscribe',
  method: 'post',
  path: '/u/{token}',
  tag,
  summary: 'Unsubscribe the recipient of an email',
  description: 'One-click unsubscribe (RFC 8058). A repeat changes nothing.',
  access: { by: 'anyone' },
  answers: { 200: page, 404: unknownLink, 503: storeAway },
})

const Bounce = Type.Object({
  address: Type.String({ minLength: 3, maxLength: 254 }),
  type: Type.Enum(['hard', 'soft', 'complaint'], {
    description: '`hard` and `complaint` suppress the address.',
  }),
  reason: Type.Optional(Type.String({ maxLength: 2_000 })),
  messageId: Type.Optional(
    Type.String({
      maxLength: 1_000,
      description: 'The `Message-ID` of the returned email. Its delivery gets the status `bounced`.',
    }),
  ),
})
export type Bounce = Static<typeof Bounce>
export const bounce = compileValidator(Bounce)
/** A report whose members are not checked yet, because a wrong one must not lose the others. */
export const bounceReport = compileValidator(
  Type.Object({ bounces: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_BOUNCES }) }),
)

export const reportBounces = defineOperation({
  id: 'reportBounces',
  method: 'post',
  path: '/webhooks/email/bounces',
  tag,
  summary: 'Report bounces and complaints',
  description:
    `Up to ${MAX_BOUNCES} at once. Those that are not valid are listed in \`invalid\`, and the others are stored. ` +
    'Repeating a report changes nothing.',
  access: { by: 'key', scope: 'manage:write' },
  body: Type.Object({ bounces: Type.Array(Bounce, { minItems: 1, maxItems: MAX_BOUNCES }) }),
  answers: {
    200: {
      description: 'The reports were stored',
      schema: Type.Object({
        suppressed: Type.Integer({ description: 'Addresses that were not suppressed before.' }),
        bounced: Type.Integer({ description: 'Deliveries that were marked.' }),
        invalid: Type.Optional(
          Type.Array(
            Type.Object({
              index: Type.Integer({ description: 'The position in `bounces`, from 0.' }),
              reason: Type.String(),
            }),
            { description: 'Reports that were not stored, because they are not valid.' },
          ),
        ),
      }),
    },
    400: { description: 'The body is not JSON, or no report is valid', schema: ErrorBody },
  },
})

export const emailFeedbackOperations = [showUnsubscribe, unsubscribe, reportBounces]
