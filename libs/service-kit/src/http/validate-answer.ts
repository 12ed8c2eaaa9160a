import { closeObjects } from '@waymark/contracts/http/close-objects'
import type { Endpoint, Operation } from '@waymark/contracts/http/operation'
import { compileValidator, type Validator } from '@waymark/contracts/validator'
import type { TSchema } from 'typebox'
import type { Reply } from './reply.ts'

/** Whether answers are validated in this process: in tests and development, and never in production. */
export const VALIDATES_ANSWERS = ['test', 'development'].includes(process.env.NODE_ENV ?? '')

const validators = new WeakMap<TSchema, Validator<unknown>>()

/** The validator of an answer. It refuses members that the schema does not declare. */
const validatorOf = (schema: TSchema): Validator<unknown> => {
  const validator = validators.get(schema) ?? compileValidator(closeObjects(schema), { showReceived: false })
  validators.set(schema, validator)
  return validator
}

/** The body of a reply as its client reads it. */
const jsonOf = ({ type, body = null }: Reply): unknown =>
  JSON.parse(type === undefined ? JSON.stringify(body) : `${body}`)

/**
 * Checks a successful reply against the answers that its operation declares.
 * @throws Error when the status is not declared, or the JSON does not match its schema
 */
export const requireDeclaredAnswer = (endpoint: Endpoint | Operation, reply: Reply): void => {
  const { status = 200, body, type, stream, open, file } = reply
  if (!('answers' in endpoint) || status === 304 || status >= 400) return
  const declared = endpoint.answers[status]
  if (!declared) throw new Error(`${endpoint.id} answers ${status}, which it does not declare`)
  const isText = type !== undefined && !type.startsWith('application/json')
  if (isText || stream !== undefined || open !== undefined || file !== undefined) return
  if (!declared.schema) {
    if (body !== undefined && !declared.contentTypes)
      throw new Error(`${endpoint.id} answers ${status} with JSON, and declares none`)
    return
  }
  const problem = validatorOf(declared.schema).check(jsonOf(reply))
  if (problem)
    throw new Error(
      `${endpoint.id} answers ${status} with JSON that it does not declare: ${problem.field} ${problem.message}`,
    )
}
