import { getSettings, updateSettings } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import type { Platform, Route } from '@waymark/service-kit'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound } from './validation.ts'

/** A project's settings; a PATCH replaces the settings that it names and leaves the others. */
export const settingsRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => [
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
      const merged = { ...current, ...change } as Prisma.InputJsonObject
      await tx.project.update({
        where: { id: projectId },
        data: { settings: merged, version: { increment: 1 } },
      })
      await tx.configChange.create({ data: { projectId } })
      return merged
    })
    return { body: settings }
  }),
]
