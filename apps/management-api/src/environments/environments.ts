import { AppError } from '@waymark/contracts/app-error'
import { builtInEnvironments, MAX_OWN_ENVIRONMENTS } from '@waymark/contracts/environment'
import { createEnvironment, deleteEnvironment, listEnvironments } from '@waymark/contracts/http/environments'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockName } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { findDecisionIn } from './environment-queries.ts'

type Transaction = Prisma.TransactionClient
type StoredEnvironment = Prisma.EnvironmentGetPayload<object>

/** The environments of a project: production, staging and its own ones. */
export const environmentRoutes = ({ projectRoute, db, clock }: ManagementDeps): Route[] => [
  projectRoute(listEnvironments, async ({ projectId }) => {
    const own = await db.prisma.environment.findMany({
      where: { projectId },
      orderBy: [{ createdAt: 'asc' }, { key: 'asc' }],
    })
    return { body: { environments: [...builtInEnvironments.map(viewOfBuiltIn), ...own.map(viewOf)] } }
  }),
  projectRoute(createEnvironment, async ({ projectId, body: { key, name = key } }) => {
    const created = await db.prisma.$transaction(async (tx) => {
      await lockEnvironments(tx, projectId)
      const taken = (await environmentsOf(tx, projectId)).includes(key)
      if (taken) throw unprocessable('key', 'unique', 'must not be the key of another environment', key)
      if ((await tx.environment.count({ where: { projectId } })) >= MAX_OWN_ENVIRONMENTS)
        throw unprocessable(
          '',
          'max_items',
          `exceeds the ${MAX_OWN_ENVIRONMENTS} environments of a project beside ${builtInEnvironments.join(' and ')}`,
        )
      return tx.environment.create({ data: { projectId, key, name } })
    })
    return { status: 201, body: viewOf(created) }
  }),
  projectRoute(deleteEnvironment, async ({ projectId, key, requireMatch }) => {
    if (isBuiltIn(key)) throw new AppError('conflict', `Every project has the environment ${key}`)
    await db.prisma.$transaction(async (tx) => {
      await lockEnvironments(tx, projectId)
      const where = { projectId_key: { projectId, key } }
      requireMatch(viewOf(requireFound(await tx.environment.findUnique({ where }))))
      const now = new Date(clock())
      const bound = await tx.apiKey.findFirst({
        where: {
          projectId,
          environment: key,
          revokedAt: null,
          OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        },
        select: { name: true },
      })
      if (bound)
        throw new AppError('conflict', `The API key ${bound.name} is bound to it: revoke that key first`)
      const decision = await findDecisionIn(tx, projectId, key)
      if (decision !== undefined)
        throw new AppError(
          'conflict',
          `The decision ${decision} has rules for it: set its environments.${key} to null first`,
        )
      await tx.environment.delete({ where })
    })
    return { status: 204 }
  }),
]

/** Serializes changes of a project's environments, and of what refers to them, until the transaction ends. */
export const lockEnvironments = (tx: Transaction, projectId: string): Promise<void> =>
  lockName(tx, `environments:${projectId}`)

/**
 * Checks that a project has an environment, which then stays until the transaction ends.
 * @throws AppError unprocessable
 */
export const holdEnvironment = async (
  tx: Transaction,
  projectId: string,
  environment: string,
): Promise<void> => {
  if (isBuiltIn(environment)) return
  await lockEnvironments(tx, projectId)
  await requireEnvironment(tx, projectId, environment)
}

/** Checks that a project has an environment. @throws AppError unprocessable that names the field `environment` */
export const requireEnvironment = async (
  prisma: Pick<Transaction, 'environment'>,
  projectId: string,
  environment: string,
): Promise<void> => {
  if (isBuiltIn(environment)) return
  const known = await environmentsOf(prisma, projectId)
  if (!known.includes(environment))
    throw unprocessable('environment', 'exists', `must be one of ${known.join(', ')}`, environment)
}

/** The keys of a project's environments, production first. */
export const environmentsOf = async (
  prisma: Pick<Transaction, 'environment'>,
  projectId: string,
): Promise<string[]> => {
  const own = await prisma.environment.findMany({ where: { projectId }, select: { key: true } })
  return [...builtInEnvironments, ...own.map(({ key }) => key)]
}

const isBuiltIn = (key: string): boolean => builtInEnvironments.some((builtIn) => builtIn === key)

const viewOf = ({ key, name, createdAt }: StoredEnvironment) => ({ key, name, builtIn: false, createdAt })
const viewOfBuiltIn = (key: string) => ({ key, name: key, builtIn: true, createdAt: null })
