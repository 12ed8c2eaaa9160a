import {
  archiveEventDefinition,
  createEventDefinition,
  DEFAULT_SAMPLE_SIZE,
  EventDefinitionView,
  getEventDefinition,
  inferEventSchema,
  listEventDefinitions,
  listEventDefinitionVersions,
  updateEventDefinition,
} from '@waymark/contracts/http/event-definitions'
import { pick } from '@waymark/contracts/http/pick'
import type { Database, Prisma } from '@waymark/database'
import { extendDeadlineDuring, type HttpRequest, type Route, SCHEMA_CHECK_MS } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, type Quotas, requireConfigurationFits, requireWithinQuota } from '../quotas.ts'
import { lockDefinitionOf } from './catalog-queries.ts'
import { inferSchemaOf } from './infer-schema-of.ts'

/** How long the inference of a schema may read events, in ms. */
const INFERENCE_MS = 30_000

type Definition = Prisma.EventDefinitionGetPayload<object>
type Transaction = Prisma.TransactionClient

/** The catalog of a project: its events and the schemas of their properties. */
export const eventDefinitionRoutes = ({
  projectRoute,
  db,
  schemas,
  quotas,
  runList,
}: ManagementDeps): Route[] => {
  const requireUsable = (request: HttpRequest, projectId: string, schema: object): Promise<void> =>
    extendDeadlineDuring(request, SCHEMA_CHECK_MS, schemas.requireUsable(projectId, schema))

  return [
    projectRoute(createEventDefinition, async ({ projectId, body: definition, request }) => {
      await requireUsable(request, projectId, definition.schema)
      return { status: 201, body: view(await create(db, projectId, definition, quotas)) }
    }),
    projectRoute(listEventDefinitions, async ({ projectId, query }) => ({
      body: await pageOf(
        query,
        (page) =>
          db.prisma.eventDefinition.findMany(
            page({ projectId, archivedAt: query.archived ? { not: null } : null }),
          ),
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
          (page) => db.prisma.eventDefinitionVersion.findMany(page({ definitionId: id })),
          versionView,
        ),
      }
    }),
    projectRoute(inferEventSchema, async ({ projectId, body, request }) => {
      const { eventName, sampleSize = DEFAULT_SAMPLE_SIZE } = body
      const { sampled, schema } = await runList({ projectId, request, timeoutMs: INFERENCE_MS }, (store) =>
        inferSchemaOf(store, { projectId, eventName, sampleSize }),
      )
      if (sampled === 0)
        throw unprocessable('eventName', 'no_events', 'has no stored events to infer a schema from')
      return { body: { eventName, sampled, schema } }
    }),
    projectRoute(updateEventDefinition, async ({ projectId, id, body, request, requireMatch }) => {
      const { description, schema } = body
      if (schema !== undefined) await requireUsable(request, projectId, schema)
      return db.prisma.$transaction(async (tx) => {
        const found = await lockDefinition(tx, projectId, id)
        requireMatch(view(found))
        const updated = await change(tx, found, {
          ...(description !== undefined && { description }),
          ...(schema !== undefined && {
            schema: schema as Prisma.InputJsonObject,
            version: { increment: 1 },
          }),
        })
        if (schema !== undefined) {
          await keepVersion(tx, updated)
          await requireConfigurationFits(tx, projectId, quotas)
        }
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
}

type NewValues = { name: string; description?: string | null; schema: Record<string, unknown> }

// An archived name can be defined again. Its row is reused, so that names stay unique.
const create = (
  db: Database,
  projectId: string,
  { name, description, schema }: NewValues,
  quotas: Quotas,
): Promise<Definition> =>
  db.prisma.$transaction(async (tx) => {
    await lockQuota(tx, projectId, 'eventDefinitions')
    const inUse = await tx.eventDefinition.count({ where: { projectId, archivedAt: null } })
    const values = {
      description: description ?? null,
      schema: schema as Prisma.InputJsonObject,
      archivedAt: null,
    }
    await lockDefinitionOf(tx, projectId, name)
    const archived = await tx.eventDefinition.findFirst({
      where: { projectId, name, archivedAt: { not: null } },
    })
    const taken = !archived && (await tx.eventDefinition.findFirst({ where: { projectId, name } }))
    if (taken) throw isTaken(name)
    requireWithinQuota(quotas, 'eventDefinitions', inUse + 1)
    const created = archived
      ? await change(tx, archived, { ...values, version: { increment: 1 } })
      : await tx.eventDefinition.create({ data: { id: uuidv7(), projectId, name, ...values } })
    await keepVersion(tx, created)
    if (!archived) await tx.configChange.create({ data: { projectId } })
    await requireConfigurationFits(tx, projectId, quotas)
    return created
  })

/** Reads a definition that is not archived and locks it until the transaction ends. */
const lockDefinition = async (tx: Transaction, projectId: string, id: string): Promise<Definition> => {
  await lockRow(tx, 'core.event_definitions', id)
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

const isTaken = (name: string) =>
  unprocessable('name', 'unique', 'must not be the name of another definition', name)

const versionView = (stored: Prisma.EventDefinitionVersionGetPayload<object>) =>
  pick(stored, listEventDefinitionVersions.answers[200].schema.properties.data.items)

const view = (definition: Definition) => pick(definition, EventDefinitionView)
