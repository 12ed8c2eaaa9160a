import { createHash, randomBytes } from 'node:crypto'
import { RECOVERY_CODES, type SecondFactorCode } from '@waymark/contracts/http/second-factor'
import type { Prisma } from '@waymark/database'
import { NobleCryptoPlugin, ScureBase32Plugin, verify } from 'otplib'
import { unprocessable } from '../http/validation.ts'
import { queueAccountMail } from './account-mail-queries.ts'

type Tx = Prisma.TransactionClient
type User = { id: string; email: string }

/** Bytes of a secret, as RFC 4226 recommends. */
const SECRET_BYTES = 20
/** Clocks of phones may differ by one step, in seconds. */
const TOLERANCE_S = 30
const CODE = /^\d{6}$/
/** Four groups of five characters, of 5 bits each. */
const RECOVERY_CODE_LENGTH = 20
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

const base32 = new ScureBase32Plugin()
const crypto = new NobleCryptoPlugin()

/** A random secret for an authenticator app. */
export const generateSecret = (): Uint8Array<ArrayBuffer> => new Uint8Array(randomBytes(SECRET_BYTES))

/** A secret as authenticator apps read it. */
export const secretText = (secret: Uint8Array): string => base32.encode(secret, { padding: false })

/** The time step of a code of an authenticator app; undefined for a wrong one. `now` is in ms. */
export const stepOfCode = async (
  secret: Uint8Array,
  code: string,
  now: number,
): Promise<number | undefined> => {
  const token = code.replaceAll(/\s/g, '')
  if (!CODE.test(token)) return undefined
  const epoch = Math.floor(now / 1000)
  const result = await verify({ secret, token, epoch, epochTolerance: TOLERANCE_S, crypto, base32 })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

const newRecoveryCode = (): string =>
  [...randomBytes(RECOVERY_CODE_LENGTH)]
    .map((byte) => ALPHABET[byte % ALPHABET.length])
    .join('')
    .replace(/(.{5})(?=.)/g, '$1-')

// Codes have 100 random bits, so that a fast hash without salt cannot be searched.
const hashRecoveryCode = (code: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    createHash('sha256')
      .update(code.toUpperCase().replaceAll(/[^A-Z0-9]/g, ''))
      .digest(),
  )

/** Whether a stored second factor counts, which it does after its set-up. */
export const hasSetUp = (factor: { setUpAt: Date | null } | null): boolean => factor?.setUpAt != null

/** Whether a user has a second factor. */
export const hasSecondFactor = async (prisma: Pick<Tx, 'secondFactor'>, userId: string): Promise<boolean> =>
  (await prisma.secondFactor.count({ where: { userId, secret: { not: null } } })) > 0

/**
 * Uses a code of the authenticator app or a recovery code of a user up. Resolves to whether it was valid and unused. The
 * user is notified of a used recovery code.
 */
export const useSecondFactor = async (
  tx: Tx,
  user: User,
  { code, recoveryCode }: SecondFactorCode,
  now: number,
): Promise<boolean> => {
  if (recoveryCode !== undefined) {
    const where = { userId: user.id, codeHash: hashRecoveryCode(recoveryCode) }
    const { count } = await tx.recoveryCode.deleteMany({ where })
    if (count === 0) return false
    await queueAccountMail(tx, user, 'recovery_code_used')
    return true
  }
  const factor = await tx.secondFactor.findUnique({ where: { userId: user.id } })
  const step = factor?.secret && (await stepOfCode(factor.secret, code ?? '', now))
  if (!step) return false
  // A code of this step or an earlier one was used already, perhaps by a concurrent request.
  const { count } = await tx.secondFactor.updateMany({
    where: { userId: user.id, secret: factor.secret, lastStep: { lt: step } },
    data: { lastStep: step },
  })
  return count > 0
}

/** Replaces the recovery codes of a user. Resolves to the new ones, of which only hashes are stored. */
export const replaceRecoveryCodes = async (tx: Tx, userId: string): Promise<string[]> => {
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
  await tx.recoveryCode.deleteMany({ where: { userId } })
  await tx.recoveryCode.createMany({
    data: codes.map((code) => ({ userId, codeHash: hashRecoveryCode(code) })),
  })
  return codes
}

/** Removes the second factor of a user, if there is one, and notifies them. */
export const dropSecondFactor = async (tx: Tx, user: User): Promise<void> => {
  const { count } = await tx.secondFactor.deleteMany({ where: { userId: user.id, secret: { not: null } } })
  if (count === 0) return
  await tx.recoveryCode.deleteMany({ where: { userId: user.id } })
  await queueAccountMail(tx, user, 'second_factor_removed')
}

/** 422 for a code that is not accepted. */
export const wrongCode = (field: 'code' | 'recoveryCode') =>
  unprocessable(field, 'mismatch', 'is wrong, was used or has expired')
