import { expect, it } from 'vitest'
import { scramVerifier } from './apply-service-roles.ts'
import { serviceGrants, serviceNames, serviceRole } from './service-roles.ts'

it('computes the verifier of RFC 7677', () => {
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
  expect(scramVerifier('pencil', salt)).toBe(
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  )
  expect(scramVerifier('pencil')).not.toBe(scramVerifier('pencil'))
})

it('names a role for each service', () => {
  expect(serviceRole('ingest-gateway')).toBe('waymark_ingest_gateway')
  expect(serviceRole('ingest-gateway', 'staging_')).toBe('staging_ingest_gateway')
})

it('uses the privileges of GRANT, and only on rows', () => {
  const privilege = /^(SELECT|INSERT|UPDATE|DELETE)( \(\w+(, \w+)*\))?(, |$)/
  for (const service of serviceNames)
    for (const [table, privileges] of Object.entries<string>(serviceGrants[service].tables)) {
      expect(table).toMatch(/^[a-z]+\.[a-z_]+$/)
      let rest = privileges
      while (privilege.test(rest)) rest = rest.replace(privilege, '')
      expect(rest, `${service} on ${table}`).toBe('')
    }
})
