import { type ProjectSettings, projectSettings } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import type { Platform, Route } from '@waymark/service-kit'
import { projectRoute } from './project-route.ts'
import { requireFound, requireValid } from './validation.ts'

/** A project's settings; a PATCH replaces the settings that it names and leaves the others. */
export const settingsRoutes = ({ apiKeys, db }: Pick<Platform, 'apiKeys' | 'db'>): Route[] => [
  projectRoute(apiKeys, {
    method: 'get',
    path: 'settings',
    scope: 'manage:read',
    answer: async ({ projectId }) => {
      const project = requireFound(await db.prisma.project.findUnique({ where: { id: projectId } }))
      return { body: project.settings }
    },
  }),
  projectRoute(apiKeys, {
    method: 'patch',
    path: 'settings',
    scope: 'manage:admin',
    answer: async ({ projectId, body }) => {
      const change: ProjectSettings = requireValid(projectSettings, body)
      const settings = await db.prisma.$transaction(async (tx) => {
        // The row lock keeps two patches of different settings from undoing each other.
        const [project] = await tx.$queryRaw<{ settings: Prisma.JsonObject }[]>`
          SELECT settings FROM core.projects WHERE id = ${projectId}::uuid FOR UPDATE`
        const merged = { ...requireFound(project).settings, ...change } as Prisma.InputJsonObject
        await tx.project.update({
          where: { id: projectId },
          data: { settings: merged, version: { increment: 1 } },
        })
        await tx.configChange.create({ data: { projectId } })
        return merged
      })
      return { body: settings }
    },
  }),
]
