import { AppError } from '@waymark/contracts/app-error'
import type { Decision, DecisionDefinition } from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import type { Prisma } from '@waymark/database'
import { hasPause, resumed, stopsOf } from '@waymark/domain/decision'
import { holdEnvironment } from '../environments/environments.ts'
import { type Change, withStatus } from './decision-rows.ts'

/** Turns a decision on or off in an environment. It is not checked again, so that nothing keeps it from being turned off. */
export const switchChange = async (
  tx: Prisma.TransactionClient,
  { projectId, definition }: Decision,
  environment: string,
  status: 'active' | 'paused',
): Promise<Change> => {
  if (environment === PRODUCTION)
    return { change: status === 'active' ? 'activated' : 'paused', status, parts: null }
  await holdEnvironment(tx, projectId, environment)
  return { change: 'updated', parts: null, ...withStatus(definition, environment, status) }
}

/** Restores the definition of an earlier version. @throws `missing` when it is not kept */
export const restoreChange = async (
  tx: Prisma.TransactionClient,
  { id: decisionId, definition }: Decision,
  version: number,
  missing: AppError,
): Promise<Change> => {
  const earlier = await tx.decisionVersion.findUnique({
    where: { decisionId_version: { decisionId, version } },
  })
  if (!earlier) throw missing
  const parts = withStatusesOf(definition, earlier.definition as DecisionDefinition)
  return { change: 'rolled_back', status: null, parts }
}

/** Resumes what guards have stopped in an environment at `now`, in ms since the epoch. @throws AppError conflict */
export const resumeChange = (
  { definition, states }: Decision,
  environment: string,
  reason: string,
  now: number,
): Change => {
  if (!states || !stopsOf(states).some((stop) => stop.environment === environment))
    throw new AppError('conflict', `No guard has stopped the decision in ${environment}`)
  return {
    change: 'resumed',
    parts: null,
    ...(hasPause(states, environment) ? withStatus(definition, environment, 'active') : { status: null }),
    states: resumed(states, environment, new Date(now).toISOString()),
    affects: environment,
    reason,
  }
}

/** An earlier definition with the present statuses in environments, so that a restore turns nothing on. */
const withStatusesOf = (
  { environments: present = {} }: DecisionDefinition,
  { environments, ...earlier }: DecisionDefinition,
): DecisionDefinition => ({
  ...earlier,
  ...(environments && {
    environments: Object.fromEntries(
      Object.entries(environments).map(([name, { rules }]) => [
        name,
        { status: present[name]?.status ?? 'paused', rules },
      ]),
    ),
  }),
})
