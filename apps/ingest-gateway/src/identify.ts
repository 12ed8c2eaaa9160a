import {
  type IdentifyRecord,
  type IdentifyResult,
  ingestRecords,
  type ProfileResult,
} from '@waymark/contracts'
import { type Database, isTransient } from '@waymark/database'
import { type CheckedTraits, checkTraits, partitionKeyOf } from '@waymark/domain'
import { BusUnavailableError } from '@waymark/event-bus'
import { applyIdentify, type IngestQueue, storeUnavailable, writeTraits } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import { v7 as uuidv7 } from 'uuid'
import type { Identify, ProfileWrite } from './identify-request.ts'

export type IdentifyDeps = {
  db: Database
  queue: Pick<IngestQueue, 'enqueueOnBus'>
  projectConfigs: ProjectConfigs
  clock: () => number
}

/** Writes what clients tell of people. */
export const createIdentify = ({ db, queue, projectConfigs, clock }: IdentifyDeps) => {
  const checked = async (projectId: string, traits: Record<string, unknown>): Promise<CheckedTraits> =>
    checkTraits(traits, (await projectConfigs.get(projectId)).settings)
  const receivedNow = () => new Date(clock()).toISOString()

  const enqueue = async (record: IdentifyRecord, cause: unknown): Promise<void> => {
    const key = partitionKeyOf(record.projectId, { ...record, eventId: record.id })
    try {
      await queue.enqueueOnBus(ingestRecords, [{ key, value: record }])
    } catch (error) {
      throw error instanceof BusUnavailableError ? storeUnavailable(cause) : error
    }
  }

  return {
    /**
     * Links a visitor to a user. When it resolves, events sent from then on see it; only when Postgres is away, and
     * unless `mustBeApplied`, it waits in the queue, where the visitor's later events are behind it.
     * @throws AppError store_unavailable when it could neither be applied nor queued
     */
    identify: async (
      projectId: string,
      { visitorId, userId, traits: sent }: Identify,
      { mustBeApplied }: { mustBeApplied: boolean },
    ): Promise<IdentifyResult> => {
      const receivedAt = receivedNow()
      const { traits, droppedKeys } = await checked(projectId, sent)
      const about = { projectId, receivedAt, visitorId, userId, traits }
      const record: IdentifyRecord = { v: 1, kind: 'identify', id: uuidv7(), ...about }
      try {
        await applyIdentify(db, record)
      } catch (error) {
        if (!isTransient(error)) throw error
        if (mustBeApplied) throw storeUnavailable(error)
        await enqueue(record, error)
      }
      return { ok: true, dropped_keys: droppedKeys }
    },

    /**
     * Writes traits to a person's profile, which is created when there is none.
     * @throws AppError store_unavailable when Postgres is away
     */
    writeProfile: async (
      projectId: string,
      { kind, value, traits: sent }: ProfileWrite,
    ): Promise<ProfileResult> => {
      const receivedAt = receivedNow()
      const { traits, droppedKeys } = await checked(projectId, sent)
      const person = { projectId, kind, value }
      try {
        const written = await writeTraits(db, { id: uuidv7(), person, traits, receivedAt })
        return { ok: true, ...written, dropped_keys: droppedKeys }
      } catch (error) {
        throw isTransient(error) ? storeUnavailable(error) : error
      }
    },
  }
}
