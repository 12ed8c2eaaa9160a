import { type Static, Type } from 'typebox'
import { CURRENCY_DESCRIPTION } from '../currency.ts'
import { DecisionKey } from '../decision-definition.ts'
import { MAX_POINTS } from '../loyalty.ts'
import { NOT_BLANK, PRINTABLE } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { optionalId } from './identify.ts'

/** Maximum lines of a cart, units of a line, and codes of a request. */
export const MAX_CART_LINES = 200
export const MAX_LINE_QUANTITY = 1_000_000
export const MAX_CART_CODES = 10
/** Maximum automatic promotions of a request. */
export const MAX_CART_PROMOTIONS = 50
/** Maximum size of a request with a cart after decompression, in bytes. */
export const MAX_CART_BODY_BYTES = 128 * 1024

const Amount = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

export const CartItem = Type.Object(
  {
    sku: Type.String({ minLength: 1, maxLength: 200, ...PRINTABLE }),
    category: Type.Optional(Type.String({ minLength: 1, maxLength: 200, ...PRINTABLE })),
    quantity: Type.Integer({ minimum: 1, maximum: MAX_LINE_QUANTITY }),
    unitAmount: Amount('The price of one unit, in minor units.'),
  },
  { additionalProperties: false },
)
export type CartItem = Static<typeof CartItem>

export const CartItems = Type.Array(CartItem, {
  minItems: 1,
  maxItems: MAX_CART_LINES,
  description: 'The lines of the cart. All of them with the shipping amount to at most 2^53 - 1.',
})

export const ShippingAmount = Type.Optional(Amount('What the shipping costs, in minor units. Default: 0.'))

export const CartCode = Type.String({
  minLength: 1,
  maxLength: 200,
  ...NOT_BLANK,
  description: 'Case, dashes, spaces, invisible characters and quotation marks around it do not matter.',
})

/** Several codes of a request, instead of `code`. */
export const CartCodes = (description: string) =>
  Type.Optional(Type.Array(CartCode, { minItems: 1, maxItems: MAX_CART_CODES, description }))

/** Maximum time of a hold, in seconds. */
export const MAX_HOLD_SECONDS = 30 * 60

export const HoldSeconds = Type.Integer({
  minimum: 1,
  maximum: MAX_HOLD_SECONDS,
  description: 'For how long, in seconds.',
})

const holdFields = (what: string) => ({
  hold: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_HOLD_SECONDS,
      description:
        `For how many seconds ${what}, their uses and budgets are reserved for this cart. Requires the scope ` +
        '`coupons:redeem`. A `pub` key holds only codes of unique pools without a budget, and requires `visitorId`.',
    }),
  ),
  holdId: Type.Optional(
    Type.String({
      format: 'uuid',
      description:
        'The id of the hold: that of an earlier answer or a UUID of your own for each cart. It replaces the live hold of ' +
        'this id, so a request can be repeated and the cart can change. Requires `hold`.',
    }),
  ),
})

/** What an answer says of the hold that was made. */
export const holdTerms = {
  holdId: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'The hold, when `hold` was sent and there was something to hold. Redeem it with this id.',
    }),
  ),
  holdExpiresAt: Type.Optional(
    Type.Unsafe<Date>({ type: 'string', format: 'date-time', description: 'When the hold ends.' }),
  ),
}

/** The points of a loyalty programme that an order spends. */
export const SpentPoints = Type.Optional(
  Type.Object(
    {
      programme: DecisionKey,
      points: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_POINTS,
          description:
            'At most so many, which the person must have. Fewer are spent where fewer are worth what is left to pay. Default: all.',
        }),
      ),
    },
    {
      additionalProperties: false,
      description:
        'Points of the person that pay for what discounts leave, before gift cards, at the rate of the programme. For `sec` keys.',
    },
  ),
)

/** A cart and the person that it belongs to. */
export const cartFields = {
  userId: optionalId('Whose cart it is. Needed for pools with a limit or a rule about the person.'),
  visitorId: optionalId('Whose cart it is, when there is no userId.'),
  currency: Type.String({ format: 'currency', description: CURRENCY_DESCRIPTION }),
  items: CartItems,
  shippingAmount: ShippingAmount,
}

export const CartRequest = Type.Object(cartFields)
export type CartRequest = Static<typeof CartRequest>

export const ValidateRequest = Type.Object(
  {
    code: Type.Optional(CartCode),
    codes: CartCodes('Several codes for one cart, instead of `code`.'),
    ...cartFields,
    ...holdFields('the codes, if all are valid'),
  },
  { additionalProperties: false },
)
export type ValidateRequest = Static<typeof ValidateRequest>
export const validateRequest = compileValidator(ValidateRequest)

export const QualifyRequest = Type.Object(
  {
    codes: CartCodes('The codes that the customer has entered. They compete with the promotions.'),
    ...cartFields,
    ...holdFields('the promotions and codes of `best`'),
    userId: optionalId(
      'Whose cart it is. Needed for promotions with a limit or a rule about the person. Only for `sec` keys: a page ' +
        'sends the `visitorId`, which is linked to the user.',
    ),
    points: SpentPoints,
  },
  { additionalProperties: false },
)
export type QualifyRequest = Static<typeof QualifyRequest>
export const qualifyRequest = compileValidator(QualifyRequest)

/** What gift cards pay of a cart. They are payments and no discounts. */
export const Payments = {
  payments: Type.Array(
    Type.Object({
      code: Type.String(),
      amount: Type.Integer({
        description: 'What the gift card pays, in minor units; 0 when nothing is left to pay.',
      }),
    }),
    { description: 'One for each gift card, in the order in which they pay.' },
  ),
  paymentAmount: Type.Integer({ description: 'The sum of the payments.' }),
  amountDue: Type.Integer({
    description: 'What is left to pay: items and shipping without discounts and payments.',
  }),
}

/** The discounts of the lines of a cart, in its order. */
export const DiscountedItems = Type.Array(
  Type.Object({
    sku: Type.String(),
    discountAmount: Type.Integer({ description: 'Of all units of the line.' }),
  }),
  { description: 'One for each line, in the order of the request.' },
)
