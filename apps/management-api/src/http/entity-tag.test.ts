import { type HttpRequest, namesTag } from '@waymark/service-kit'
import { describe, expect, it } from 'vitest'
import { entityTagOf, matchRequirement, taggedReply } from './entity-tag.ts'

describe('an entity tag', () => {
  const tag = entityTagOf({ name: 'a', at: new Date(0), list: [{ x: 1, y: 2 }] })

  it('is equal for equal JSON only', () => {
    expect(entityTagOf({ list: [{ y: 2, x: 1 }], at: '1970-01-01T00:00:00.000Z', name: 'a' })).toBe(tag)
    expect(entityTagOf({ name: 'b', at: new Date(0), list: [{ x: 1, y: 2 }] })).not.toBe(tag)
    expect(tag).toMatch(/^"[\w-]{22}"$/)
  })

  it.each([
    [tag, true],
    [`"other", W/${tag}`, true],
    ['*', true],
    ['"other"', false],
    [undefined, false],
    ['', false],
  ])('matches If-None-Match: %s, %s', (header, named) => {
    expect(namesTag(header, tag)).toBe(named)
  })

  it.each([
    [undefined, true],
    ['*', true],
    ['"of x"', false],
    ['', false],
    ['not a tag', false],
    [entityTagOf('x'), true],
    [`W/${entityTagOf('x')}`, false],
    [`"other", ${entityTagOf('x')}`, true],
  ])('with If-Match: %s: %s', (header, passes) => {
    const change = () => matchRequirement(header)('x')
    if (passes) expect(change).not.toThrow()
    else expect(change).toThrow(expect.objectContaining({ code: 'precondition_failed' }))
  })
})

const body = { name: 'a' }
const tag = entityTagOf(body)
const asked = (method: string, known?: string) =>
  ({ method, headers: { ...(known && { 'if-none-match': known }) } }) as HttpRequest

describe('a reply', () => {
  it('has the tag of its body or version', () => {
    expect(taggedReply(asked('GET'), { body })).toEqual({ body, headers: { ETag: tag } })
    expect(taggedReply(asked('GET'), { body: 'text', type: 'text/plain', version: body })).toEqual({
      body: 'text',
      type: 'text/plain',
      headers: { ETag: tag },
    })
  })

  it.each([{ status: 204 }, { body: { data: [], nextCursor: null } }])('has no tag: %j', (reply) => {
    expect(taggedReply(asked('GET', '*'), reply)).toEqual(reply)
  })

  it.each(['GET', 'HEAD'])('is 304 for a %s with a known tag', (method) => {
    expect(taggedReply(asked(method, tag), { body })).toEqual({ status: 304, headers: { ETag: tag } })
    expect(taggedReply(asked(method, '"another"'), { body })).toMatchObject({ body })
  })

  it('is sent in full for changes, regardless of If-None-Match', () => {
    expect(taggedReply(asked('PATCH', tag), { body })).toEqual({ body, headers: { ETag: tag } })
  })
})
