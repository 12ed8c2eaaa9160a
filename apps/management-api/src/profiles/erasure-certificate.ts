import { createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto'
import type { ErasureCertificate, ErasurePublicKey } from '@waymark/contracts/http/erasures'
import { CompactSign, calculateJwkThumbprint } from 'jose'

/** What precedes the seed in PKCS #8 of an Ed25519 key (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const SEED_BYTES = 32

/** Signs certificates of erasures. */
export type CertificateSigner = {
  publicKey: ErasurePublicKey
  /** Resolves to a JSON Web Signature in compact form. */
  sign: (certificate: ErasureCertificate) => Promise<string>
}

/** A signer whose Ed25519 key is derived from a secret (HKDF, RFC 5869), so that all processes with the secret have the same. */
export const createCertificateSigner = async (secret: string): Promise<CertificateSigner> => {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'waymark erasure certificates', SEED_BYTES))
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  const jwk = { kty: 'OKP', crv: 'Ed25519', x } as const
  const kid = await calculateJwkThumbprint(jwk)
  return {
    publicKey: { ...jwk, kid },
    sign: (certificate) =>
      new CompactSign(Buffer.from(JSON.stringify(certificate)))
        .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'waymark-erasure+jws' })
        .sign(key),
  }
}
