import type { Platform } from '@waymark/service-kit'
import { requireFound } from '../http/validation.ts'

/** The id of the tenant that a project belongs to. @throws AppError not_found */
export type TenantOf = (projectId: string) => Promise<string>

/** Looks up the tenants of projects. */
export const createTenantOf =
  ({ db }: Pick<Platform, 'db'>): TenantOf =>
  async (projectId) =>
    requireFound(await db.prisma.project.findUnique({ where: { id: projectId } })).tenantId
