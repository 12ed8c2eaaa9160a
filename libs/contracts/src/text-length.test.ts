import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { withTextLength } from './text-length.ts'

/** Validators of strings by allowed length. Compiling one takes longer than using it. */
const validators = (ajv: Ajv2020) => {
  const compiled = new Map<string, ReturnType<Ajv2020['compile']>>()
  return (minLength: number, maxLength: number) => {
    const key = `${minLength} to ${maxLength}`
    const validate = compiled.get(key) ?? ajv.compile({ type: 'string', minLength, maxLength })
    compiled.set(key, validate)
    return validate
  }
}
const theirs = () => new Ajv2020({ allErrors: true, verbose: true })
const mine = validators(withTextLength(theirs()))
const original = validators(theirs())

it('agrees with counting characters for every text', () => {
  const limit = fc.nat({ max: 8 })
  // Including lone surrogates and surrogate pairs.
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\ud83d', '\ude00'), maxLength: 20 })
  fc.assert(
    fc.property(limit, limit, text, (min, max, value) => {
      const [ours, expected] = [mine, original].map((validatorFor) => {
        const validate = validatorFor(min, max)
        return { valid: validate(value), errors: validate.errors }
      })
      expect(ours).toEqual(expected)
    }),
    { numRuns: 1_000 },
  )
})
