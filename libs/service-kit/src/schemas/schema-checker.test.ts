import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createSchemaChecker, type SchemaChecker } from './schema-checker.ts'

/** Analysing it takes a second: each pattern takes nearly the maximum number of steps. */
const slow = {
  properties: Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [`p${n}`, { pattern: `^${'a'.repeat(950 + n)}$` }]),
  ),
}
/** As long as a test may take, because the limit of 30 s is one of the time of day, which a busy machine may exceed. */
const PATIENT = { deadlineMs: 120_000 }
const usable = { type: 'object', properties: { code: { type: 'string', pattern: '^[A-Z]{2}[0-9]+$' } } }

describe('a schema checker', () => {
  let checker: SchemaChecker
  afterEach(() => checker.close())

  it('accepts a usable schema and returns the reason against another one', async () => {
    checker = createSchemaChecker(PATIENT)
    await checker.requireUsable('p', usable)
    await expect(checker.requireUsable('p', { type: 'text', pattern: 'a' })).rejects.toMatchObject({
      code: 'unprocessable',
      message: expect.stringContaining('The schema cannot be used: schema.type '),
      details: { errors: [{ field: 'schema.type', rule: 'invalid_schema' }] },
    })
  })

  it('does not block this thread while patterns are analyzed', async () => {
    checker = createSchemaChecker(PATIENT)
    await checker.requireUsable('p', usable)
    let isDone = false
    const done = checker.requireUsable('p', slow).then(() => {
      isDone = true
    })
    let turns = 0
    while (!isDone) {
      turns++
      await nextTurn()
    }
    await done
    expect(turns).toBeGreaterThan(10)
  })

  it('accepts fifty ordinary patterns, twice', async () => {
    checker = createSchemaChecker(PATIENT)
    const digits = '[0-9](?:[0-9a-f-]{0,61}[0-9a-f])?'
    for (let round = 0; round < 2; round++) {
      const patterns = Array.from(
        { length: 50 },
        (_, n) => `^x{${round + 1},${n + 9}}@${digits}(?:\\.${digits})*$`,
      )
      const properties = Object.fromEntries(patterns.map((pattern, n) => [`p${n}`, { pattern }]))
      await checker.requireUsable('p', { properties })
    }
  })

  it('ends a check that exceeds its deadline, and continues', async () => {
    checker = createSchemaChecker({ deadlineMs: 100 })
    await expect(checker.requireUsable('p', slow)).rejects.toMatchObject({
      code: 'unprocessable',
      details: { errors: [{ message: expect.stringContaining('takes longer than 100 ms to check') }] },
    })
    await expect(checker.requireUsable('p', { type: 5, pattern: 'a' })).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  it('refuses a schema of a project with too many waiting, and none of another project', async () => {
    checker = createSchemaChecker({ ...PATIENT, maxWaiting: 1 })
    const first = checker.requireUsable('p', usable)
    await Promise.resolve()
    const second = checker.requireUsable('p', usable)
    await Promise.resolve()
    await expect(checker.requireUsable('p', usable)).rejects.toMatchObject({ code: 'rate_limited' })
    await checker.requireUsable('other', usable)
    // A small schema without patterns waits for no thread.
    await checker.requireUsable('p', { type: 'object' })
    await expect(checker.requireUsable('p', { type: 'text' })).rejects.toMatchObject({
      code: 'unprocessable',
    })
    await Promise.all([first, second])
  })
})
