import { Type } from 'typebox'
import { Id, Timestamp } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { HoldSeconds } from './cart.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

const RenewRequest = Type.Object({ hold: HoldSeconds }, { additionalProperties: false })
export const renewRequest = compileValidator(RenewRequest)

const tag = 'Coupons'
const path = '/api/v1/coupons/holds/{holdId}'
const notFound = {
  description: 'The project has no such hold, or it has ended, or was redeemed or released',
  schema: ErrorBody,
}

export const renewHold = defineOperation({
  id: 'renewHold',
  method: 'post',
  path: `${path}/renew`,
  tag,
  summary: 'Renew a hold',
  description:
    'A live hold ends `hold` seconds from now, whether that is earlier or later than before. One that was made with a ' +
    '`pub` key ends at most 30 minutes after it was made.',
  access: { by: 'key', scope: 'coupons:redeem' },
  forPrograms: true,
  limited: true,
  body: RenewRequest,
  answers: {
    200: {
      description: 'Renewed',
      schema: Type.Object({ holdId: Id, holdExpiresAt: Timestamp }),
    },
    400: {
      description: 'The body is not JSON, or a field is missing, invalid or unknown',
      schema: ErrorBody,
    },
    404: notFound,
  },
})

export const releaseHold = defineOperation({
  id: 'releaseHold',
  method: 'delete',
  path,
  tag,
  summary: 'Release a hold',
  description: 'Returns the codes, uses and budget of a live hold at once.',
  access: { by: 'key', scope: 'coupons:redeem' },
  forPrograms: true,
  limited: true,
  answers: { 204: { description: 'Released' }, 404: notFound },
})

export const holdOperations = [renewHold, releaseHold]
