import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accountName, readClaims } from './claims.ts'

const read = (claims: object, groupsClaim = 'groups') => readClaims({ sub: '1', ...claims }, groupsClaim)

const claimName = fc.constantFrom('email', 'email_verified', 'name', 'groups', 'sid', 'auth_time', 'xms_edov')

describe('the address of a provider’s user', () => {
  it.each([
    [{ email: 'Ada@Shop.example', email_verified: true }, 'ada@shop.example'],
    [{ email: 'Ada@Bücher.example', email_verified: true }, 'ada@xn--bcher-kva.example'],
    [{ email: 'ada@shop.example', xms_edov: true }, 'ada@shop.example'],
    [{ email: 'ada@shop.example', xms_edov: 1 }, 'ada@shop.example'],
    [{ email: 'ada@shop.example', xms_edov: '1' }, 'ada@shop.example'],
    [{ email: 'ada@shop.example' }, null],
    [{ email: 'ada@shop.example', email_verified: false }, null],
    [{ email: 'ada@shop.example', email_verified: 'true' }, null],
    [{ email: 'ada@shop.example', email_verified: 1 }, null],
    [{ email: 'ada@shop.example', email_verified: false, xms_edov: true }, null],
    [{ email: 'ada@shop.example', xms_edov: false }, null],
    [{ email: ['ada@shop.example'], email_verified: true }, null],
    [{ email: 'ada@evil.example@shop.example', email_verified: true }, null],
    [{ email: '"ada"@shop.example', email_verified: true }, null],
    [{ email: 'ada\n@shop.example', email_verified: true }, null],
    [{ email: 'ada', email_verified: true }, null],
    [{ email: `${'a'.repeat(241)}@shop.example`, email_verified: true }, `${'a'.repeat(241)}@shop.example`],
    [{ email: `${'a'.repeat(242)}@shop.example`, email_verified: true }, null],
    [{}, null],
  ])('of %j', (claims, email) => expect(read(claims).email).toBe(email))
})

describe('the groups', () => {
  it.each([
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    ['a', ['a']],
    [undefined, []],
    [{ a: 1 }, []],
    [['a', 1, null], ['a']],
    [['x'.repeat(200)], ['x'.repeat(200)]],
    [['x'.repeat(201)], []],
  ])('of %j', (groups, expected) => expect(read({ groups }).groups).toEqual(expected))

  it('come from the claim of the provider, at most 1,000 of them', () => {
    const roles = Array.from({ length: 1_001 }, (_, at) => `${at}`)
    expect(read({ roles }, 'roles').groups).toEqual(roles.slice(0, 1_000))
    expect(read({ roles }).groups).toEqual([])
  })
})

it('say when the provider asked the user to sign in, or not', () => {
  expect(read({ auth_time: 1_700_000_000 }).signedInAt).toBe(1_700_000_000_000)
  for (const time of [undefined, null, '1700000000']) expect(read({ auth_time: time }).signedInAt).toBeNull()
})

it.each([undefined, 1, '', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(256)])('refuses the subject %j', (sub) => {
  expect(() => read({ sub })).toThrow('sub must be 1 to 255 characters')
})

it('reads any claims, or refuses them', () => {
  fc.assert(
    fc.property(fc.dictionary(claimName, fc.oneof(fc.jsonValue(), fc.double())), (claims) => {
      const { signedInAt, email, groups } = read(claims)
      if (signedInAt !== null) expect(new Date(signedInAt).toISOString()).toBeTypeOf('string')
      for (const text of [email ?? '', ...groups])
        expect(text.isWellFormed() && !text.includes('\0')).toBe(true)
    }),
  )
})

it('names the account', () => {
  expect(accountName(read({ name: ' Ada\nLovelace ' }))).toBe('AdaLovelace')
  expect(accountName({ name: null, email: 'ada@shop.example' })).toBe('ada')
})
