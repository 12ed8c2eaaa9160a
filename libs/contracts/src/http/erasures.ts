import { type Static, Type } from 'typebox'
import { Id, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const nullableTime = (description: string) =>
  Type.Unsafe<string | null>({ anyOf: [Timestamp, { type: 'null' }], description })

export const ErasureRecordView = Type.Object({
  id: Id,
  erasedAt: Timestamp,
  removedAt: nullableTime('When nothing was left but in the archive; null while data is being removed.'),
  removed: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
    description: 'The number of rows that were removed or made anonymous, by kind of data.',
  }),
  archive: Type.Object({
    rewrittenFiles: Type.Integer({
      minimum: 0,
      description: 'Files that were written again without the person, and others who were erased with them.',
    }),
    removedAt: nullableTime('When no file had the person any more; null before.'),
  }),
  isComplete: Type.Boolean({ description: 'Whether nothing is left in any store, and the archive.' }),
})
export type ErasureRecordView = Static<typeof ErasureRecordView>

/** The payload of a signed certificate. */
export const ErasureCertificate = Type.Object({
  issuer: Type.String({ description: 'Public address of the installation.' }),
  issuedAt: Timestamp,
  projectId: Id,
  erasureId: Id,
  people: Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' }), {
    description:
      'SHA-256, in hex, of `<project id>:visitor:<visitor id>` and `<project id>:user:<user id>` for each id of the person.',
  }),
  erasedAt: Timestamp,
  removedAt: Timestamp,
  removed: Type.Record(Type.String(), Type.Integer({ minimum: 1 })),
  archive: Type.Object({ rewrittenFiles: Type.Integer({ minimum: 0 }), removedAt: Timestamp }),
  topics: Type.Object({
    retentionDays: Type.Number({ description: 'The longest time that a topic keeps a record.' }),
    goneAt: Type.Unsafe<string>({
      ...Timestamp,
      description: 'When no topic has a record from before the erasure.',
    }),
  }),
  backups: Type.Unsafe<{ retentionDays: number; goneAt: string } | null>({
    anyOf: [
      Type.Object({ retentionDays: Type.Integer({ minimum: 1 }), goneAt: Timestamp }),
      { type: 'null' },
    ],
    description: 'When no backup has the person any more; null when `BACKUP_RETENTION_DAYS` is not set.',
  }),
})
export type ErasureCertificate = Static<typeof ErasureCertificate>

/** An Ed25519 key in JWK (RFC 8037). */
const PublicKey = Type.Object({
  kty: Type.Literal('OKP'),
  crv: Type.Literal('Ed25519'),
  x: Type.String(),
  kid: Type.String({ description: 'Thumbprint of the key (RFC 7638).' }),
})
export type ErasurePublicKey = Static<typeof PublicKey>

const tag = 'Profiles'
const collection = '/api/projects/{projectId}/erasures'

export const listErasures = defineOperation({
  id: 'listErasures',
  method: 'get',
  path: collection,
  tag,
  summary: 'List erasures of people, and what they have removed',
  access: { by: 'project', role: 'admin' },
  query: PageQuery,
  answers: { 200: { description: 'A page, the last erasure first', schema: pageOf(ErasureRecordView) } },
})

export const getErasureCertificate = defineOperation({
  id: 'getErasureCertificate',
  method: 'get',
  path: `${collection}/{id}/certificate`,
  tag,
  summary: 'Get a signed certificate of an erasure',
  description:
    'The certificate is a JSON Web Signature (RFC 7515, EdDSA). `waymark verify-erasure` checks it. It needs `ERASURE_SECRET`.',
  access: { by: 'project', role: 'admin' },
  answers: {
    200: {
      description: 'The certificate, readable and signed',
      schema: Type.Object({
        certificate: ErasureCertificate,
        signed: Type.String({ description: 'The same content as a JSON Web Signature in compact form.' }),
        publicKey: PublicKey,
      }),
    },
    409: { description: 'Data is still being removed, or no secret is set' },
  },
})

export const getErasureKey = defineOperation({
  id: 'getErasureKey',
  method: 'get',
  path: '/api/projects/{projectId}/erasure-key',
  tag,
  summary: 'Get the public key that verifies certificates of erasures',
  access: { by: 'project', role: 'viewer' },
  answers: {
    200: { description: 'The key', schema: PublicKey },
    409: { description: 'No secret is set' },
  },
})

export const erasureOperations = [listErasures, getErasureCertificate, getErasureKey]
