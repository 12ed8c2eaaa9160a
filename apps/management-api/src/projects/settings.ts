import { getIdentitySecret, getSettings, rotateIdentitySecret, updateSettings } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { generateIdentitySecret } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { requireFound } from '../http/validation.ts'

/**
 * A project's settings; a PATCH replaces the settings that it names and leaves the others. The identity secret is read
 * apart from them, by admins.
 */
export const settingsRoutes = ({
  projectRoute,
  db,
  clock,
  configChanges,
}: Pick<Platform, 'db' | 'clock' | 'configChanges'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(getSettings, async ({ projectId }) => {
    const project = requireFound(await db.prisma.project.findUnique({ where: { id: projectId } }))
    return { body: project.settings }
  }),
  projectRoute(updateSettings, async ({ projectId, body: change, requireMatch }) => {
    const settings = await db.prisma.$transaction(async (tx) => {
      // The row lock keeps two patches of different settings from undoing each other.
      const [project] = await tx.$queryRaw<{ settings: Prisma.JsonObject }[]>`
          SELECT settings FROM core.projects WHERE id = ${projectId}::uuid FOR UPDATE`
      const current = requireFound(project).settings
      requireMatch(current)
      const merged = withoutNulls({ ...current, ...change }) as Prisma.InputJsonObject
      await tx.project.update({
        where: { id: projectId },
        data: { settings: merged, version: { increment: 1 } },
      })
      await tx.configChange.create({ data: { projectId } })
      return merged
    })
    return { body: settings }
  }),
  projectRoute(getIdentitySecret, async ({ projectId }) => {
    const { prisma } = db
    const found = await prisma.identitySecret.findUnique({ where: { projectId } })
    if (found) return { body: secretView(found) }
    // Two first readers get the same secret.
    await prisma.$transaction([
      prisma.identitySecret.createMany({
        data: [{ projectId, secret: generateIdentitySecret() }],
        skipDuplicates: true,
      }),
      prisma.configChange.create({ data: { projectId } }),
    ])
    // Routes do this after a write; this GET is one when it is the first.
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

const secretView = ({ secret, createdAt }: { secret: string; createdAt: Date }) => ({ secret, createdAt })

/** Settings as they are stored: one that is null has its default, and a group without settings is left out. */
const withoutNulls = (settings: object): Record<string, unknown> => {
  const members = Object.entries(settings).flatMap(([name, value]: [string, unknown]) => {
    if (value === null || value === undefined) return []
    if (typeof value !== 'object' || Array.isArray(value)) return [[name, value]]
    const group = withoutNulls(value)
    return Object.keys(group).length > 0 ? [[name, group]] : []
  })
  return Object.fromEntries(members)
}
