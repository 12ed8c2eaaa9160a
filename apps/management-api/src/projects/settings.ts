import { AppError } from '@waymark/contracts/app-error'
import type { Approvals } from '@waymark/contracts/approvals'
import { pick } from '@waymark/contracts/http/pick'
import {
  getIdentitySecret,
  getSettings,
  rotateIdentitySecret,
  updateSettings,
  weakensApprovals,
} from '@waymark/contracts/http/settings'
import { knownSettings } from '@waymark/contracts/project-settings'
import type { Prisma } from '@waymark/database'
import { generateIdentitySecret } from '@waymark/domain/identity'
import type { Route } from '@waymark/service-kit'
import { auditInTransaction } from '../audit/audit-log.ts'
import { environmentsOf } from '../environments/environments.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'

/**
 * A project's settings, and its identity secret, which only admins read. A PATCH changes only the settings that it
 * names.
 */
export const settingsRoutes = ({ projectRoute, db, clock, configChanges }: ManagementDeps): Route[] => [
  projectRoute(getSettings, async ({ projectId }) => {
    const project = requireFound(await db.prisma.project.findUnique({ where: { id: projectId } }))
    return { body: knownSettings(project.settings) }
  }),
  projectRoute(updateSettings, async ({ projectId, actor, body: change, requireMatch, checkEffects }) => {
    const settings = await db.prisma.$transaction(async (tx) => {
      // Without the lock, two patches of different settings could overwrite each other.
      await lockRow(tx, 'core.projects', projectId)
      const project = requireFound(await tx.project.findUnique({ where: { id: projectId } }))
      const current = project.settings as Prisma.JsonObject
      requireMatch(knownSettings(current))
      checkEffects(current)
      await requireUsableApprovals(tx, projectId, change.approvals)
      if (weakensApprovals(change, current)) {
        // Whoever has the key of an author could go around the approvals of others.
        if (actor.kind === 'key')
          throw new AppError(
            'forbidden',
            'approvals can be weakened only by an admin who is signed in, not by a key',
          )
        const at = new Date(clock())
        await auditInTransaction(tx, projectId, { operation: 'weakenApprovals', resourceId: null, at, actor })
      }
      const merged = withoutNulls({ ...current, ...change }) as Prisma.InputJsonObject
      await tx.project.update({
        where: { id: projectId },
        data: { settings: merged, version: { increment: 1 } },
      })
      await tx.configChange.create({ data: { projectId } })
      return knownSettings(merged)
    })
    return { body: settings }
  }),
  projectRoute(getIdentitySecret, async ({ projectId }) => {
    const { prisma } = db
    const found = await prisma.identitySecret.findUnique({ where: { projectId } })
    if (found) return { body: secretView(found) }
    // Two concurrent first reads must get the same secret.
    await prisma.$transaction([
      prisma.identitySecret.createMany({
        data: [{ projectId, secret: generateIdentitySecret() }],
        skipDuplicates: true,
      }),
      prisma.configChange.create({ data: { projectId } }),
    ])
    // The first GET is a write, after which routes refresh the configuration.
    await configChanges.refresh()
    return { body: secretView(await prisma.identitySecret.findUniqueOrThrow({ where: { projectId } })) }
  }),
  projectRoute(rotateIdentitySecret, async ({ projectId }) => {
    const { prisma } = db
    const renewed = { secret: generateIdentitySecret(), createdAt: new Date(clock()) }
    const [stored] = await prisma.$transaction([
      prisma.identitySecret.upsert({
        where: { projectId },
        create: { projectId, ...renewed },
        update: renewed,
      }),
      prisma.configChange.create({ data: { projectId } }),
    ])
    return { body: secretView(stored) }
  }),
]

/** @throws AppError unprocessable for an environment that the project does not have, which would protect nothing */
const requireUsableApprovals = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  approvals: Approvals | null | undefined,
): Promise<void> => {
  const named = Object.keys(approvals?.environments ?? {})
  if (named.length === 0) return
  const known = await environmentsOf(tx, projectId)
  const unknown = named.find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw unprocessable(
      `approvals.environments.${unknown}`,
      'exists',
      `is not an environment of this project, which has ${known.join(', ')}`,
    )
}

const secretView = (stored: { secret: string; createdAt: Date }) =>
  pick(stored, getIdentitySecret.answers[200].schema)

/** Settings as stored: null resets a setting to its default, and empty groups are omitted. */
const withoutNulls = (settings: object): Record<string, unknown> => {
  const members = Object.entries(settings).flatMap(([name, value]: [string, unknown]) => {
    if (value === null || value === undefined) return []
    if (typeof value !== 'object' || Array.isArray(value)) return [[name, value]]
    const group = withoutNulls(value)
    return Object.keys(group).length > 0 ? [[name, group]] : []
  })
  return Object.fromEntries(members)
}
