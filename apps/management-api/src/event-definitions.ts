import {
  archiveEventDefinition,
  createEventDefinition,
  getEventDefinition,
  listEventDefinitions,
  updateEventDefinition,
} from '@waymark/contracts'
import { type Database, Prisma } from '@waymark/database'
import { requireUsableSchema } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

type Definition = Prisma.EventDefinitionGetPayload<object>

/** The catalog of a project: which events there are, and what their properties look like. */
export const eventDefinitionRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(createEventDefinition, async ({ projectId, body: definition }) => {
    requireUsableSchema(definition.schema)
    return { status: 201, body: view(await create(db, projectId, definition)) }
  }),
  projectRoute(listEventDefinitions, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      (where, take) =>
        db.prisma.eventDefinition.findMany({
          where: { projectId, archivedAt: null, ...where },
          orderBy: { id: 'desc' },
          take,
        }),
      view,
    ),
  })),
  projectRoute(getEventDefinition, async ({ projectId, id }) => ({
    body: view(
      requireFound(await db.prisma.eventDefinition.findFirst({ where: { id: requireId(id), projectId } })),
    ),
  })),
  projectRoute(updateEventDefinition, async ({ projectId, id, body: { description, schema } }) => {
    if (schema !== undefined) requireUsableSchema(schema)
    const change = {
      ...(description !== undefined && { description }),
      ...(schema !== undefined && { schema: schema as Prisma.InputJsonObject, version: { increment: 1 } }),
    }
    return { body: view(await update(db, projectId, requireId(id), change)) }
  }),
  projectRoute(archiveEventDefinition, async ({ projectId, id }) => {
    await update(db, projectId, requireId(id), { archivedAt: new Date() })
    return { status: 204 }
  }),
]

type NewValues = { name: string; description?: string; schema: Record<string, unknown> }

// A name that was archived may be defined anew; the old row is taken over, so that the name stays unique.
const create = (
  db: Database,
  projectId: string,
  { name, description, schema }: NewValues,
): Promise<Definition> =>
  db.prisma.$transaction(async (tx) => {
    const values = {
      description: description ?? null,
      schema: schema as Prisma.InputJsonObject,
      archivedAt: null,
    }
    const archived = await tx.eventDefinition.findFirst({
      where: { projectId, name, archivedAt: { not: null } },
    })
    await tx.configChange.create({ data: { projectId } })
    if (archived) {
      return tx.eventDefinition.update({
        where: { id: archived.id },
        data: { ...values, version: { increment: 1 }, updatedAt: new Date() },
      })
    }
    return tx.eventDefinition
      .create({ data: { id: uuidv7(), projectId, name, ...values } })
      .catch(refuseTaken)
  })

const update = (
  db: Database,
  projectId: string,
  id: string,
  change: Prisma.EventDefinitionUpdateInput,
): Promise<Definition> =>
  db.prisma.$transaction(async (tx) => {
    requireFound(await tx.eventDefinition.findFirst({ where: { id, projectId, archivedAt: null } }))
    await tx.configChange.create({ data: { projectId } })
    return tx.eventDefinition.update({ where: { id }, data: { ...change, updatedAt: new Date() } })
  })

const refuseTaken = (error: unknown): never => {
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') {
    throw unprocessable('name', 'unique', 'is defined already')
  }
  throw error
}

const view = ({ projectId: _projectId, archivedAt: _archivedAt, ...definition }: Definition) => definition
