import { createConfig, lintFromString } from '@redocly/openapi-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CLIENT_EVENT_ID_OR_EMPTY, OWN_EVENT_ID_PREFIX, PRINTABLE_OR_EMPTY } from '../schema-parts.ts'
import { openApiDocument } from './openapi.ts'
import { operations } from './operations.ts'
import { queryExamples, requestExamples } from './request-examples.ts'
import { LOCAL_SESSION_COOKIE, SESSION_COOKIE } from './session-cookie.ts'

const document = openApiDocument(operations, '1.0.0')

type Media = { schema?: object; example?: unknown }
type Body = { content?: Record<string, Media> }
type Described = {
  parameters: { in: string; name: string; required?: boolean; example?: string }[]
  requestBody?: Body
  responses: Record<string, Body>
}

const patternsIn = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return []
  const own = 'pattern' in value && typeof value.pattern === 'string' ? [value.pattern] : []
  return [...own, ...Object.values(value).flatMap(patternsIn)]
}

/** The operation object in the document. */
const described = (method: string, path: string): Described => {
  const found = document.paths[path]?.[method]
  if (!found) throw new Error(`${method} ${path} is not in the document`)
  return found as Described
}
const bodyOf = (method: string, path: string, type: string): Media =>
  described(method, path).requestBody?.content?.[type] ?? {}

describe('the OpenAPI document', () => {
  it('passes the recommended rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const source = JSON.stringify(document)
    const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
    const errors = problems.filter(({ severity, ignored }) => severity === 'error' && !ignored)
    expect(errors.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
  })

  it('counts only /mcp and paths below /api, except /api/v1, as the management API', () => {
    const managed = operations.filter(({ management }) => management).map(({ path }) => path)
    expect(managed).toEqual(
      operations.map(({ path }) => path).filter((path) => /^\/(?:mcp$|api\/(?!v1\/))/.test(path)),
    )
  })

  it('names the host that serves it first, with a variable for others', () => {
    expect(document.servers).toMatchObject([{ url: '/' }, { url: '{baseUrl}' }])
  })

  it('names the session cookie with and without HTTPS', () => {
    expect(document.components).toMatchObject({
      securitySchemes: {
        session: { in: 'cookie', name: SESSION_COOKIE },
        localSession: { in: 'cookie', name: LOCAL_SESSION_COOKIE },
      },
    })
  })

  it.each(['/api/v1/t', '/internal/backfill/events'])('describes one event before many for %s', (path) => {
    const { schema } = bodyOf('post', path, 'application/json')
    expect(schema).toMatchObject({ anyOf: [{ required: ['eventName'] }, { required: ['events'] }] })
  })

  it('has a schema for every body', () => {
    const bodies = operations
      .map(({ method, path }) => described(method, path))
      .flatMap(({ requestBody, responses }) => [requestBody ?? {}, ...Object.values(responses)])
      .flatMap(({ content = {} }) => Object.values(content))
    expect(bodies.length).toBeGreaterThan(operations.length)
    for (const body of bodies) expect(body).toHaveProperty('schema')
    expect(bodyOf('post', '/api/projects/{projectId}/coupon-pools/{id}/import', 'text/csv').schema).toEqual({
      type: 'string',
    })
  })

  it('has patterns that generators support', () => {
    const patterns = new Set(patternsIn(document))
    expect(patterns).toContain(CLIENT_EVENT_ID_OR_EMPTY.pattern)
    for (const pattern of patterns) {
      // RE2 and fast-check would refuse the first one.
      expect(pattern).not.toMatch(/\(\?(?!:)|\\p\{/)
      const expression = new RegExp(pattern, 'u')
      fc.assert(fc.property(fc.stringMatching(expression), (text) => expression.test(text)))
    }
  })
})

describe('the example of', () => {
  const withBody = operations.filter(({ body, consumes }) => body || consumes)

  it('every operation with a body, and no other, is in the document', () => {
    expect(Object.keys(requestExamples).sort()).toEqual(withBody.map(({ id }) => id).sort())
    for (const { id, method, path, consumes } of withBody)
      expect(bodyOf(method, path, consumes?.[0] ?? 'application/json').example).toEqual(requestExamples[id])
  })

  it.each(withBody)('$id is valid', ({ id, body }) => {
    expect(body?.validator.check(requestExamples[id])).toBeUndefined()
  })

  it('every required query parameter is in the document and valid', () => {
    for (const { id, path, method, query } of operations) {
      const required = described(method, path).parameters.filter(
        (parameter) => parameter.in === 'query' && parameter.required,
      )
      const values = Object.fromEntries(required.map(({ name, example }) => [name, example]))
      expect([id, values]).toEqual([id, queryExamples[id] ?? {}])
      expect(query?.validator.check({ ...values })).toBeUndefined()
    }
  })
})

describe('an event id', () => {
  const expression = new RegExp(CLIENT_EVENT_ID_OR_EMPTY.pattern, 'u')
  const near = fc.string({ unit: fc.constantFrom('w', 'm', ':', ' ', 'x', '\u0001', '\u00a0', 'W') })

  it('is empty or printable text without the reserved prefix', () => {
    const isAllowed = (text: string) =>
      new RegExp(PRINTABLE_OR_EMPTY.pattern, 'u').test(text) && !text.startsWith(OWN_EVENT_ID_PREFIX)
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), (text) => expression.test(text) === isAllowed(text)),
      { numRuns: 5_000 },
    )
    for (const [id, allowed] of [
      ['w', true],
      ['wm', true],
      ['wm:', false],
      ['wm:1', false],
      [' wm:1', true],
      ['w m:', true],
      [' ', false],
      ['', true],
    ] as const)
      expect([id, expression.test(id)]).toEqual([id, allowed])
  })
})
