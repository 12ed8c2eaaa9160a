import { defineOperation } from '@waymark/contracts/http/operation'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { requireDeclaredAnswer, VALIDATES_ANSWERS } from './validate-answer.ts'

const operation = defineOperation({
  id: 'getThing',
  tag: 'Things',
  summary: 'Get a thing',
  method: 'get',
  path: '/things',
  access: { by: 'anyone' },
  answers: {
    200: {
      description: 'A thing.',
      schema: Type.Object({ id: Type.String(), at: Type.String({ format: 'date-time' }) }),
    },
    204: { description: 'None.' },
  },
})

const require = (reply: Parameters<typeof requireDeclaredAnswer>[1]) => () =>
  requireDeclaredAnswer(operation, reply)

describe('requireDeclaredAnswer', () => {
  it('runs in tests', () => expect(VALIDATES_ANSWERS).toBe(true))

  it('accepts what the operation declares, with times before they are JSON', () => {
    const at = new Date()
    expect(require({ body: { id: 'a', at } })).not.toThrow()
    expect(require({ status: 204 })).not.toThrow()
    expect(require({ status: 304 })).not.toThrow()
  })

  it('refuses a member that the schema does not declare, without showing its value', () => {
    const body = { id: 'a', at: new Date(), passwordHash: 'secret' }
    expect(require({ body })).toThrow(
      /^getThing answers 200 with JSON that it does not declare: passwordHash is not a known field/,
    )
    expect(require({ body })).not.toThrow(/secret/)
  })

  it('refuses a missing member, a missing body and a wrong type', () => {
    expect(require({ body: { at: new Date() } })).toThrow(/id is required/)
    expect(require({})).toThrow(/getThing answers 200/)
    expect(require({ body: { id: 1, at: new Date() } })).toThrow(/id must be a string/)
  })

  it('refuses a status that is not declared, and a body where none is', () => {
    expect(require({ status: 201, body: {} })).toThrow('getThing answers 201, which it does not declare')
    expect(require({ status: 204, body: {} })).toThrow('getThing answers 204 with JSON, and declares none')
  })

  it('leaves errors, text and routes without declared answers', () => {
    expect(require({ status: 404, body: { error: 'x' } })).not.toThrow()
    expect(require({ type: 'text/plain', body: 'x' })).not.toThrow()
    expect(() => requireDeclaredAnswer({ method: 'get', path: '/' }, { body: {} })).not.toThrow()
  })
})
