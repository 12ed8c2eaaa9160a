import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from '@waymark/contracts/app-error'

/** Whose work it is. Work of the process itself has no owner. */
export type WorkOwner = {
  /** The tenant, or the network of a client that is not authenticated. */
  tenantId: string
  projectId: string
}

/**
 * What a request uses the database for. `sign-in` and `ingestion` have a reserve, `read` has a small part, because its
 * work depends on the filters that a client chooses.
 */
export type WorkKind = 'sign-in' | 'ingestion' | 'read' | 'general'

type Work = {
  owner: WorkOwner
  kind: WorkKind
  isOver: boolean
  /** How long it waits for each of its turns, in ms. Default: as long as the queue says. */
  maxTurnWaitMs: number | undefined
  fail: ((error: unknown) => void) | undefined
}

const works = new AsyncLocalStorage<Work | undefined>()

/** Whose work runs now, and its kind. Undefined for work of the process itself. */
export const currentWork = (): Readonly<Work> | undefined => works.getStore()

/** The owner of the current work, which is for a project. Outside of requests each project stands for itself. */
export const ownerOfProject = (projectId: string): WorkOwner => {
  const owner = works.getStore()?.owner
  return owner?.projectId === projectId ? owner : { tenantId: projectId, projectId }
}

/**
 * Runs a request, as the work of `owner` until `chargeWork` says whose it is. `maxTurnWaitMs` overrides how long it waits
 * for a turn in a fair queue.
 */
export const runAsWork = <T>(owner: WorkOwner, run: () => T, maxTurnWaitMs?: number): T =>
  works.run({ owner, kind: 'sign-in', isOver: false, maxTurnWaitMs, fail: undefined }, run)

/** Runs work that a request only starts, or that serves several owners at once, as work of the process. */
export const runAsProcess = <T>(run: () => T): T => works.run(undefined, run)

/** Charges the rest of the current request to an owner, once that is authenticated. */
export const chargeWork = (owner: WorkOwner, kind: WorkKind): void => {
  const work = works.getStore()
  if (!work) return
  work.owner = owner
  work.kind = kind
}

/** Returns what ends the current work, once its request was answered or its client has left. */
export const currentWorkEnder = (): (() => void) => {
  const work = works.getStore()
  return () => {
    if (work) work.isOver = true
  }
}

/** Calls `fail` for a promise that is rejected in the rest of the current work and that nothing handles. */
export const onWorkFailed = (fail: (error: unknown) => void): void => {
  const work = works.getStore()
  if (work) work.fail = fail
}

/** Fails the current work, if it is a request. For the handler of `unhandledRejection`. */
export const failCurrentWork = (error: unknown): void => works.getStore()?.fail?.(error)

const RETRY_AFTER_S = 1

/**
 * Call it between the parts of work whose size a client chooses, so that a request that was given up does not compete with
 * its repetition.
 * @throws AppError overloaded when the request of the current work was answered already or its client has left
 */
export const requireOngoingWork = (): void => {
  if (works.getStore()?.isOver)
    throw new AppError('overloaded', 'The request took too long and was given up', {
      retryAfterSeconds: RETRY_AFTER_S,
    })
}
