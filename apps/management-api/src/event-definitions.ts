import { compileValidator } from '@waymark/contracts'
import { type Database, Prisma } from '@waymark/database'
import { requireUsableSchema } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { Type } from 'typebox'
import { v7 as uuidv7 } from 'uuid'
import { pageOf, parsePage } from './page.ts'
import { projectRoute } from './project-route.ts'
import { requireFound, requireId, requireValid, unprocessable } from './validation.ts'

const JsonSchema = Type.Unsafe<Record<string, unknown>>({ type: 'object' })

const NewDefinition = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  description: Type.Optional(Type.String({ maxLength: 2_000 })),
  schema: JsonSchema,
})
const newDefinition = compileValidator(NewDefinition)

const DefinitionPatch = Type.Object({
  description: Type.Optional(Type.String({ maxLength: 2_000 })),
  schema: Type.Optional(JsonSchema),
})
const definitionPatch = compileValidator(DefinitionPatch)

type Definition = Prisma.EventDefinitionGetPayload<object>

/** The catalog of a project: which events there are, and what their properties look like. */
export const eventDefinitionRoutes = ({ apiKeys, db }: Pick<Platform, 'apiKeys' | 'db'>): Route[] => [
  projectRoute(apiKeys, {
    method: 'post',
    path: 'event-definitions',
    scope: 'manage:write',
    answer: async ({ projectId, body }) => {
      const definition = requireValid(newDefinition, body)
      requireUsableSchema(definition.schema)
      return { status: 201, body: view(await create(db, projectId, definition)) }
    },
  }),
  projectRoute(apiKeys, {
    method: 'get',
    path: 'event-definitions',
    scope: 'manage:read',
    answer: async ({ projectId, query }) => ({
      body: await pageOf(
        parsePage(query),
        (where, take) =>
          db.prisma.eventDefinition.findMany({
            where: { projectId, archivedAt: null, ...where },
            orderBy: { id: 'desc' },
            take,
          }),
        view,
      ),
    }),
  }),
  projectRoute(apiKeys, {
    method: 'get',
    path: 'event-definitions/:id',
    scope: 'manage:read',
    answer: async ({ projectId, id }) => ({
      body: view(
        requireFound(await db.prisma.eventDefinition.findFirst({ where: { id: requireId(id), projectId } })),
      ),
    }),
  }),
  projectRoute(apiKeys, {
    method: 'patch',
    path: 'event-definitions/:id',
    scope: 'manage:write',
    answer: async ({ projectId, id, body }) => {
      const { description, schema } = requireValid(definitionPatch, body)
      if (schema !== undefined) requireUsableSchema(schema)
      const change = {
        ...(description !== undefined && { description }),
        ...(schema !== undefined && { schema: schema as Prisma.InputJsonObject, version: { increment: 1 } }),
      }
      return { body: view(await update(db, projectId, requireId(id), change)) }
    },
  }),
  projectRoute(apiKeys, {
    method: 'delete',
    path: 'event-definitions/:id',
    scope: 'manage:write',
    answer: async ({ projectId, id }) => {
      await update(db, projectId, requireId(id), { archivedAt: new Date() })
      return { status: 204 }
    },
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
