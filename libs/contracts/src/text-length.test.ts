import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { withTextLength } from './text-length.ts'

const theirs = () => new Ajv2020({ allErrors: true, verbose: true })

it('tells of every text what counting its characters does', () => {
  const limit = fc.nat({ max: 8 })
  // Also halves of a character, and characters of two units.
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\ud83d', '\ude00'), maxLength: 20 })
  fc.assert(
    fc.property(limit, limit, text, (min, max, value) => {
      const [mine, original] = [withTextLength(theirs()), theirs()].map((ajv) => {
        const validate = ajv.compile({ type: 'string', minLength: min, maxLength: max })
        return { valid: validate(value), errors: validate.errors }
      })
      expect(mine).toEqual(original)
    }),
    { numRuns: 300 },
  )
})
