import {
  archiveEventDefinition,
  createEventDefinition,
  DEFAULT_SAMPLE_SIZE,
  getEventDefinition,
  inferEventSchema,
  listEventDefinitions,
  listEventDefinitionVersions,
  updateEventDefinition,
} from '@waymark/contracts'
import { type Database, Prisma } from '@waymark/database'
import { requireUsableSchema } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { inferSchemaOf } from './infer-schema-of.ts'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

type Definition = Prisma.EventDefinitionGetPayload<object>
type Transaction = Prisma.TransactionClient

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
          where: { projectId, archivedAt: query.archived ? { not: null } : null, ...where },
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
  projectRoute(listEventDefinitionVersions, async ({ projectId, id, query }) => {
    requireFound(await db.prisma.eventDefinition.findFirst({ where: { id: requireId(id), projectId } }))
    return {
      body: await pageOf(
        query,
        (where, take) =>
          db.prisma.eventDefinitionVersion.findMany({
            where: { definitionId: id, ...where },
            orderBy: { id: 'desc' },
            take,
          }),
        ({ version, schema, createdAt }) => ({ version, schema, createdAt }),
      ),
    }
  }),
  projectRoute(inferEventSchema, async ({ projectId, body }) => {
    const { eventName, sampleSize = DEFAULT_SAMPLE_SIZE } = body
    const { sampled, schema } = await inferSchemaOf(db.pool, { projectId, eventName, sampleSize })
    if (sampled === 0) throw unprocessable('eventName', 'no_events', 'has no stored events to learn from')
    return { body: { eventName, sampled, schema } }
  }),
  projectRoute(updateEventDefinition, async ({ projectId, id, body, requireMatch }) => {
    const { description, schema } = body
    if (schema !== undefined) requireUsableSchema(schema)
    return db.prisma.$transaction(async (tx) => {
      const found = await lockDefinition(tx, projectId, id)
      requireMatch(view(found))
      const updated = await change(tx, found, {
        ...(description !== undefined && { description }),
        ...(schema !== undefined && { schema: schema as Prisma.InputJsonObject, version: { increment: 1 } }),
      })
      if (schema !== undefined) await keepVersion(tx, updated)
      return { body: view(updated) }
    })
  }),
  projectRoute(archiveEventDefinition, async ({ projectId, id, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      const found = await lockDefinition(tx, projectId, id)
      requireMatch(view(found))
      await change(tx, found, { archivedAt: new Date() })
    })
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
    await tx.$queryRaw`
      SELECT 1 FROM core.event_definitions WHERE project_id = ${projectId}::uuid AND name = ${name} FOR UPDATE`
    const archived = await tx.eventDefinition.findFirst({
      where: { projectId, name, archivedAt: { not: null } },
    })
    if (archived) {
      const revived = await change(tx, archived, { ...values, version: { increment: 1 } })
      await keepVersion(tx, revived)
      return revived
    }
    const created = await tx.eventDefinition
      .create({ data: { id: uuidv7(), projectId, name, ...values } })
      .catch(refuseTaken)
    await keepVersion(tx, created)
    await tx.configChange.create({ data: { projectId } })
    return created
  })

/** A definition in use, which nobody else changes until the transaction ends. */
const lockDefinition = async (tx: Transaction, projectId: string, id: string): Promise<Definition> => {
  await tx.$queryRaw`SELECT 1 FROM core.event_definitions WHERE id = ${requireId(id)}::uuid FOR UPDATE`
  return requireFound(await tx.eventDefinition.findFirst({ where: { id, projectId, archivedAt: null } }))
}

const change = async (
  tx: Transaction,
  { id, projectId }: Definition,
  values: Prisma.EventDefinitionUpdateInput,
): Promise<Definition> => {
  await tx.configChange.create({ data: { projectId } })
  return tx.eventDefinition.update({ where: { id }, data: { ...values, updatedAt: new Date() } })
}

const keepVersion = async (tx: Transaction, { id, version, schema }: Definition): Promise<void> => {
  await tx.eventDefinitionVersion.create({
    data: { id: uuidv7(), definitionId: id, version, schema: schema as Prisma.InputJsonObject },
  })
}

const refuseTaken = (error: unknown): never => {
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') {
    throw unprocessable('name', 'unique', 'is defined already')
  }
  throw error
}

const view = ({ projectId: _projectId, ...definition }: Definition) => definition
