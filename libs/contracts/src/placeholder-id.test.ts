import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPlaceholderId, PLACEHOLDER_IDS } from './placeholder-id.ts'

describe('isPlaceholderId', () => {
  it.each([
    '',
    ' ',
    'undefined',
    ' undefined ',
    'Undefined',
    'null',
    'NULL',
    'Null\t',
    '"null"',
    '(null)',
    '( null )',
    '<null>',
    '<nil>',
    'nil',
    'None',
    'NONE\n',
    'NaN',
    'nan',
    '[object Object]',
    '[object Undefined]',
    '[object Null]',
    ' [Object object]',
    '\u200bnull\ufeff',
    'N/A',
    '\\N',
    '(not set)',
    'Guest',
    'anonymous',
    '00000000-0000-0000-0000-000000000000',
    '{00000000-0000-0000-0000-000000000000}',
    'ｎｕｌｌ',
    '“undefined”',
    '«null»',
    `null${' '.repeat(100)}`,
    '{{userId}}',
    '{{ user.id }}',
    '\u0024{user.id}',
    '#{user.id}',
    '<%= user.id %>',
    '%USER_ID%',
    '%%visitor_id%%',
    '*|EMAIL|*',
    '[object HTMLInputElement]',
    '[object Promise]',
    'undefined-undefined',
    'null_null',
    'None:nil',
    'null null',
    'Optional(nil)',
    'Optional.empty',
    'userId',
    'user_id',
    '{distinct_id}',
    'null;',
    'undefined,',
    'NULL::text',
    'n.a.',
    'void 0',
    '$USER_ID',
    ':userId',
    'not-logged-in',
    '(not provided)',
    'anonymous_user',
    'nullnull',
    'undefinedundefined',
    '(blank)',
    '<empty>',
    'None\u0000',
    'null\ufffd',
    'null%20',
    '%7B%7Buser.id%7D%7D',
    '[Function: id]',
    'function () { [native code] }',
    '{{ids.1}}',
    '%USER_ID_1%',
    '[object Object2]',
    'Symbol()',
    'Promise { <pending> }',
    '%!s(<nil>)',
    '-',
    '--',
    '…',
  ])('is true for %j', (id) => {
    expect(isPlaceholderId(id)).toBe(true)
  })

  it.each([
    '0',
    '1',
    'false',
    'nullable',
    'nonesuch',
    'neil',
    'Nan Goldin',
    'user-null',
    'undefined-17',
    'optional',
    'user',
    'functional',
    ':)x',
    '$ABC5',
    'a::b',
    'blank',
    'void',
    'blank-17',
    'John%20Doe',
    'none-of-your-business',
    'guest-17',
    '(id)',
    '{3f2504e0-4f89-11d3-9a0c-0305e82c3301}',
    '100%',
    '$5',
    '🙂',
    'ｎｕｌｌ１',
    'object',
    '00000000-0000-0000-0000-000000000001',
    '7211045500123456789',
  ])('is false for %j', (id) => {
    expect(isPlaceholderId(id)).toBe(false)
  })

  it('does not depend on case and on what is around it', () => {
    const around = fc.string({ unit: fc.constantFrom(' ', '\t', '\u00a0', '\u200b', '"', "'"), maxLength: 4 })
    const cases = fc.constantFrom(
      (text: string) => text.toUpperCase(),
      (text: string) => text.charAt(0).toUpperCase() + text.slice(1),
      (text: string) => text,
    )
    fc.assert(
      fc.property(fc.constantFrom(...PLACEHOLDER_IDS), around, around, cases, (id, before, after, write) => {
        expect(isPlaceholderId(`${before}${write(id)}${after}`)).toBe(true)
      }),
    )
  })

  it('is false for the ids that systems generate', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uuid(), fc.ulid(), fc.emailAddress(), fc.nat().map(String)), (id) => {
        expect(isPlaceholderId(id)).toBe(false)
      }),
    )
  })
})
