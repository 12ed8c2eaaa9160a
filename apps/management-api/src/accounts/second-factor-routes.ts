import { AppError } from '@waymark/contracts/app-error'
import {
  completeLogin,
  confirmSecondFactor,
  getSecondFactor,
  reauthenticate,
  removeSecondFactor,
  renewRecoveryCodes,
  startSecondFactor,
} from '@waymark/contracts/http/second-factor'
import type { Route } from '@waymark/service-kit'
import { generateURI } from 'otplib'
import { toString as toSvg } from 'qrcode'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { queueAccountMail } from './account-mail-queries.ts'
import { readAccount } from './read-account.ts'
import {
  dropSecondFactor,
  generateSecret,
  hasSecondFactor,
  replaceRecoveryCodes,
  secretText,
  stepOfCode,
  useSecondFactor,
  wrongCode,
} from './second-factors.ts'
import { signInExpired } from './session-queries.ts'

const ISSUER = 'Waymark'

/** The second factor of a user: setting it up, signing in with it, and proving again who is signed in. */
export const secondFactorRoutes = ({
  accountRoutes,
  accountLimits,
  passwords,
  sessions,
  auditLog,
  db,
  clock,
}: ManagementDeps): Route[] => {
  const tenantsThatRequire = (userId: string) =>
    db.prisma.tenant.findMany({
      where: {
        requiresSecondFactor: true,
        projects: { some: { archivedAt: null, members: { some: { userId } } } },
      },
      select: { id: true, name: true },
      orderBy: { id: 'asc' },
    })

  return [
    accountRoutes.open(completeLogin, async ({ body, client, challenge }) => {
      await accountLimits.countSignIn(client.address)
      const awaited = await sessions.findChallenge(challenge)
      if (!awaited) throw signInExpired()
      const { user } = awaited
      let token: string | undefined
      const check = async () => {
        token = await db.prisma.$transaction(async (tx) => {
          if (!(await useSecondFactor(tx, user, body, clock()))) return undefined
          return sessions.completeChallenge(tx, awaited, client)
        })
        return token !== undefined
      }
      if (!(await accountLimits.attemptCode(user.id, check)) || token === undefined)
        throw new AppError('unauthorized', 'The code is wrong, was used or has expired')
      await auditLog.recordOfUser(user.id, { operation: completeLogin.id, body, client })
      const session = await sessions.find(token)
      return { token, challenge: null, body: await readAccount(db, user, session?.projectIds) }
    }),

    accountRoutes.signedIn(reauthenticate, async ({ session, body, client }) => {
      const { user } = session
      if (body.password !== undefined) {
        if (user.hasSecondFactor)
          throw unprocessable('password', 'second_factor', 'is not enough: send a code')
        await accountLimits.countSignIn(client.address)
        const { passwordHash } = requireFound(await db.prisma.user.findUnique({ where: { id: user.id } }))
        const check = () => passwords.verify(body.password ?? '', passwordHash)
        if (!(await accountLimits.attempt(user.email, client.address, check)))
          throw unprocessable('password', 'mismatch', 'is not the current password')
      } else {
        const check = () => db.prisma.$transaction((tx) => useSecondFactor(tx, user, body, clock()))
        if (!(await accountLimits.attemptCode(user.id, check)))
          throw wrongCode(body.code === undefined ? 'recoveryCode' : 'code')
      }
      await sessions.verify(session.id)
      await auditLog.recordOfUser(user.id, { operation: reauthenticate.id, body, client })
      return { status: 204 }
    }),

    accountRoutes.signedIn(getSecondFactor, async ({ session: { user } }) => {
      const [factor, recoveryCodesLeft, requiredBy] = await Promise.all([
        db.prisma.secondFactor.findUnique({ where: { userId: user.id }, select: { setUpAt: true } }),
        db.prisma.recoveryCode.count({ where: { userId: user.id } }),
        tenantsThatRequire(user.id),
      ])
      return { body: { setUpAt: factor?.setUpAt ?? null, recoveryCodesLeft, requiredBy } }
    }),

    accountRoutes.signedIn(startSecondFactor, async ({ session: { user }, client }) => {
      const pendingSecret = generateSecret()
      await db.prisma.secondFactor.upsert({
        where: { userId: user.id },
        create: { userId: user.id, pendingSecret },
        update: { pendingSecret },
      })
      await auditLog.recordOfUser(user.id, { operation: startSecondFactor.id, client })
      const secret = secretText(pendingSecret)
      const uri = generateURI({ issuer: ISSUER, label: user.email, secret })
      const svg = await toSvg(uri, { type: 'svg' })
      const qrCode = `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
      return { status: 201, body: { secret, uri, qrCode } }
    }),

    accountRoutes.signedIn(confirmSecondFactor, async ({ session, body: { code }, client }) => {
      const { user } = session
      let recoveryCodes: string[] = []
      const check = () =>
        db.prisma.$transaction(async (tx) => {
          await lockRow(tx, 'core.users', user.id, 'NO KEY UPDATE')
          const pending = (await tx.secondFactor.findUnique({ where: { userId: user.id } }))?.pendingSecret
          if (!pending) throw unprocessable('code', 'not_started', 'belongs to no set-up; start one first')
          const step = await stepOfCode(pending, code, clock())
          if (step === undefined) return false
          await tx.secondFactor.update({
            where: { userId: user.id },
            data: { secret: pending, setUpAt: new Date(clock()), lastStep: step, pendingSecret: null },
          })
          recoveryCodes = await replaceRecoveryCodes(tx, user.id)
          await sessions.endOthers(tx, session)
          await queueAccountMail(tx, user, 'second_factor_added')
          return true
        })
      if (!(await accountLimits.attemptCode(user.id, check))) throw wrongCode('code')
      await sessions.verify(session.id)
      await auditLog.recordOfUser(user.id, { operation: confirmSecondFactor.id, client })
      return { body: { recoveryCodes } }
    }),

    accountRoutes.signedIn(renewRecoveryCodes, async ({ session: { user }, client }) => {
      const recoveryCodes = await db.prisma.$transaction(async (tx) => {
        if (!(await hasSecondFactor(tx, user.id)))
          throw unprocessable('', 'no_second_factor', 'needs a second factor; set one up first')
        await queueAccountMail(tx, user, 'recovery_codes_renewed')
        return replaceRecoveryCodes(tx, user.id)
      })
      await auditLog.recordOfUser(user.id, { operation: renewRecoveryCodes.id, client })
      return { body: { recoveryCodes } }
    }),

    accountRoutes.signedIn(removeSecondFactor, async ({ session, client }) => {
      const { user } = session
      const [required] = await tenantsThatRequire(user.id)
      if (required)
        throw unprocessable(
          '',
          'required',
          `is refused: ${required.name} requires a second factor; set up another instead`,
        )
      await db.prisma.$transaction(async (tx) => {
        await dropSecondFactor(tx, user)
        await sessions.endOthers(tx, session)
      })
      await auditLog.recordOfUser(user.id, { operation: removeSecondFactor.id, client })
      return { status: 204 }
    }),
  ]
}
