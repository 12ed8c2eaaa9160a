import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { knownSettings } from './project-settings.ts'

const known = {
  ingestValidation: { mode: 'enforce', rejectUnknownEvents: true },
  ipStorage: 'drop',
  retentionDays: 30,
  deniedTraits: ['ssn'],
  identityVerification: 'required',
  links: { appendClickId: false },
}

describe('stored settings', () => {
  it('are read unchanged when this version knows them', () => {
    expect(knownSettings(known)).toEqual(known)
    expect(knownSettings({})).toEqual({})
  })

  it.each([
    ['setting', { ...known, newer: { deep: [1] } }, known],
    ['member', { ...known, links: { ...known.links, newer: 1 } }, known],
    ['value', { ...known, ipStorage: 'hash' }, { ...known, ipStorage: undefined }],
    ['group', { ...known, links: ['newer'] }, { ...known, links: {} }],
    [
      'value of a member',
      { ...known, ingestValidation: { mode: 'quarantine', rejectUnknownEvents: true } },
      { ...known, ingestValidation: { rejectUnknownEvents: true } },
    ],
  ])('omit only an unknown %s', (_what, stored, expected) => {
    expect(knownSettings(stored)).toEqual(expected)
  })

  it('are none when they are no object', () => {
    for (const stored of [null, undefined, 'x', 7, [known]]) expect(knownSettings(stored)).toEqual({})
  })

  it('keep what is known beside any other members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (more) => {
        expect(knownSettings({ ...more, ...known })).toEqual(known)
      }),
    )
  })
})
