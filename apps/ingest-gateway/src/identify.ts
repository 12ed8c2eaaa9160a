import type { ApiKeyKind } from '@waymark/contracts/api-key'
import { AppError, storeUnavailable } from '@waymark/contracts/app-error'
import type { IdentifyResult, ProfileResult } from '@waymark/contracts/http/identify'
import type { IdentifyRecord } from '@waymark/contracts/records/ingest-record'
import { ingestRecords } from '@waymark/contracts/topics'
import { type Database, isTransient } from '@waymark/database'
import { correctedTime } from '@waymark/domain/enrichment'
import { requireOngoingWork } from '@waymark/domain/fairness'
import { type CheckedTraits, checkTraits, type IdentityKind, isUserHash } from '@waymark/domain/identity'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import { BusUnavailableError } from '@waymark/event-bus'
import {
  applyIdentify,
  changePeople,
  type IngestQueue,
  identitiesOf,
  justErased,
  type PersonChange,
  type PersonChanges,
  traitsTooLarge,
  writeTraits,
} from '@waymark/pipeline'
import type { ProjectConfig, ProjectConfigs } from '@waymark/project-config'
import { v7 as uuidv7 } from 'uuid'

/** Traits as sent, within the size limits, before the project's settings are applied. */
type SentTraits = { traits: Record<string, unknown>; userHash: string | null }
/** Links a visitor to a user. */
export type Identify = SentTraits & { visitorId: string; userId: string }
/** Traits for the profile of a visitor or user. */
export type ProfileWrite = SentTraits & { kind: IdentityKind; value: string }

/** A link when it has both ids, else traits for the one that it has. */
export type Change = SentTraits & {
  visitorId: string | null
  userId: string | null
  /** When it happened, and when it was sent, both by the clock of the client. Default: at its receipt. */
  happenedAt?: string
  sentAt?: string | null
}

/** The project and kind of the request's API key. */
export type Sender = { projectId: string; keyKind: ApiKeyKind }

type IdentifyDeps = {
  db: Database
  queue: Pick<IngestQueue, 'enqueueOnBus'>
  projectConfigs: ProjectConfigs
  personChanges: PersonChanges
  clock: () => number
  /** A monotonic clock, in ms. */
  steadyClock?: () => number
}

/** How long the links of a request are applied one after the other, in ms, before the others wait in the queue. */
const APPLY_MS = 3_000
/** Changes of people in one transaction. Each may read and write a profile of 64 KiB. */
const CHANGES_AT_ONCE = 50

type Link = PersonChange & { visitorId: string; userId: string }

const isLink = (change: PersonChange | undefined): change is Link =>
  change !== undefined && change.visitorId !== null && change.userId !== null

const toRecord = ({ mustFit: _mustFit, ...link }: Link): IdentifyRecord => ({
  v: 1,
  kind: 'identify',
  ...link,
})

/** The traits that a request has set. */
const writtenOf = (
  traits: Record<string, unknown>,
  droppedKeys: readonly string[],
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(traits).filter(([name, value]) => value !== null && !droppedKeys.includes(name)),
  )

/** Links visitors to users and writes traits. */
export const createIdentify = ({
  db,
  queue,
  projectConfigs,
  personChanges,
  clock,
  steadyClock = () => performance.now(),
}: IdentifyDeps) => {
  /** The traits that may be stored, and whether the user is verified. */
  const check = async (
    { projectId, keyKind }: Sender,
    userId: string | null,
    { traits, userHash }: Pick<Identify, 'traits' | 'userHash'>,
  ): Promise<CheckedTraits & { verified: boolean }> => {
    const config = await projectConfigs.get(projectId)
    const verified = verifyUser({ keyKind, userId, userHash }, config)
    return { ...checkTraits(traits, config.settings), verified }
  }
  /** Undefined for a change that is refused as a whole, which `refuse` receives. */
  const toPersonChange = async (
    sender: Sender,
    { visitorId, userId, happenedAt, sentAt, ...sent }: Change,
    refuse: (error: AppError) => void,
  ): Promise<PersonChange | undefined> => {
    try {
      const { traits, verified } = await check(sender, userId, sent)
      const about = { projectId: sender.projectId, visitorId, userId, ...timesOf(happenedAt, sentAt) }
      return { id: uuidv7(), ...about, traits, verified, mustFit: true }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'forbidden') throw error
      refuse(error)
      return undefined
    }
  }

  const receivedNow = () => new Date(clock()).toISOString()

  /** A clock that is ahead must not make a change outlast later ones. */
  const timesOf = (
    happenedAt: string | null = null,
    sentAt: string | null = null,
  ): { receivedAt: string; happenedAt?: string } => {
    const receivedAtMs = clock()
    const time = correctedTime(happenedAt, sentAt, receivedAtMs)
    return {
      receivedAt: new Date(receivedAtMs).toISOString(),
      ...(time < receivedAtMs && { happenedAt: new Date(time).toISOString() }),
    }
  }

  /** @throws AppError store_unavailable when the queue does not take them either */
  const enqueue = async (records: readonly IdentifyRecord[], cause: unknown): Promise<void> => {
    const keyOf = (record: IdentifyRecord) =>
      partitionKeyOf(record.projectId, { ...record, eventId: record.id })
    try {
      await queue.enqueueOnBus(
        ingestRecords,
        records.map((record) => ({ key: keyOf(record), value: record })),
      )
    } catch (error) {
      throw error instanceof BusUnavailableError ? storeUnavailable(cause) : error
    }
    await personChanges.announceQueued(records.flatMap(identitiesOf))
  }

  return {
    /**
     * Links a visitor to a user. Events sent after it resolves see the link. While PostgreSQL is unavailable, and unless
     * `mustBeApplied`, the link waits in the queue, before the visitor's later events.
     * @throws AppError store_unavailable when it can neither be applied nor queued, forbidden for a wrong or missing user
     * hash, bad_request when the profile would exceed its size
     */
    identify: async (
      sender: Sender,
      request: Identify,
      { mustBeApplied }: { mustBeApplied: boolean },
    ): Promise<IdentifyResult> => {
      const receivedAt = receivedNow()
      const { projectId } = sender
      const { visitorId, userId } = request
      const { traits, droppedKeys, verified } = await check(sender, userId, request)
      const about = { projectId, receivedAt, visitorId, userId, traits, verified }
      const record: IdentifyRecord = { v: 1, kind: 'identify', id: uuidv7(), ...about }
      const identities = identitiesOf(record)
      try {
        const applied = await applyIdentify(db, record, { mustFit: true })
        droppedKeys.push(...(applied?.droppedKeys ?? []))
        await personChanges.announce(identities, applied ? [applied.profileId] : [])
      } catch (error) {
        if (!isTransient(error)) throw error
        if (mustBeApplied) throw storeUnavailable(error)
        await enqueue([record], error)
      }
      return { ok: true, dropped_keys: droppedKeys }
    },

    /**
     * Makes changes of people in their order, like `identify` with `mustBeApplied: false` and `writeProfile` one after the
     * other. Links that would take too long wait in the queue, as while PostgreSQL is unavailable. It can be repeated as a
     * whole. `refuse` receives the changes that will never be made.
     * @throws AppError store_unavailable; overloaded when the request was given up
     */
    changePeople: async (
      sender: Sender,
      changes: readonly Change[],
      refuse: (index: number, error: AppError) => void,
    ): Promise<void> => {
      const wanted: { change: PersonChange; index: number }[] = []
      for (const [index, sent] of changes.entries()) {
        const change = await toPersonChange(sender, sent, (error) => refuse(index, error))
        if (change) wanted.push({ change, index })
      }
      const applyUntil = steadyClock() + APPLY_MS
      for (let start = 0; start < wanted.length; start += CHANGES_AT_ONCE) {
        requireOngoingWork()
        const left = wanted.slice(start).map(({ change }) => change)
        if (steadyClock() >= applyUntil && left.every(isLink))
          return await enqueue(left.map(toRecord), new Error('The links of the request take too long'))
        const some = wanted.slice(start, start + CHANGES_AT_ONCE)
        try {
          const outcomes = await changePeople(
            db,
            some.map(({ change }) => change),
          )
          if (outcomes.some(({ is }, n) => is === 'erased' && !isLink(some[n]?.change))) throw justErased()
          outcomes.forEach(({ is }, n) => {
            if (is === 'too_large') refuse(some[n]?.index ?? 0, traitsTooLarge())
          })
          await personChanges.announce(
            some.flatMap(({ change }) => identitiesOf(change)),
            outcomes.flatMap((outcome) => (outcome.is === 'applied' ? [outcome.profileId] : [])),
          )
        } catch (error) {
          if (!isTransient(error)) throw error
          // None of them waits for the database again.
          if (!left.every(isLink)) throw storeUnavailable(error)
          return await enqueue(left.map(toRecord), error)
        }
      }
    },

    /**
     * Writes traits to a person's profile and creates it if necessary. A secret key gets all traits of the profile back, a
     * public key only those that it wrote: public keys must not read other people's traits.
     * @throws AppError store_unavailable when PostgreSQL is unavailable, forbidden for a wrong or missing user hash,
     * bad_request when the profile would exceed its size
     */
    writeProfile: async (sender: Sender, request: ProfileWrite): Promise<ProfileResult> => {
      const receivedAt = receivedNow()
      const { projectId } = sender
      const { kind, value } = request
      const { traits, verified, ...checked } = await check(sender, kind === 'user' ? value : null, request)
      const person = { projectId, kind, value }
      try {
        const written = await writeTraits(db, { id: uuidv7(), person, traits, receivedAt, verified })
        await personChanges.announce([person], [written.profileId])
        const dropped_keys = [...checked.droppedKeys, ...written.droppedKeys]
        if (sender.keyKind === 'sec')
          return { ok: true, profileId: written.profileId, traits: written.traits, dropped_keys }
        return { ok: true, traits: writtenOf(traits, written.droppedKeys), dropped_keys }
      } catch (error) {
        throw isTransient(error) ? storeUnavailable(error) : error
      }
    },
  }
}

/** A key's claim about a user; `userId` is null for a visitor. */
export type Claim = { keyKind: ApiKeyKind; userId: string | null; userHash: string | null }

/**
 * Whether a secret key or a user hash verifies a claim.
 * @throws AppError forbidden when the hash is wrong, or missing where the project requires one; store_unavailable when
 * the project's secret cannot be read
 */
export const verifyUser = (
  { keyKind, userId, userHash }: Claim,
  { settings, identitySecret }: Pick<ProjectConfig, 'settings' | 'identitySecret'>,
): boolean => {
  if (userId === null) return keyKind === 'sec'
  if (userHash === null) {
    if (keyKind === 'pub' && settings.identityVerification === 'required')
      throw new AppError('forbidden', MISSING)
    return keyKind === 'sec'
  }
  if (identitySecret === undefined) throw storeUnavailable(new Error('The identity secret could not be read'))
  if (identitySecret === null || !isUserHash(userHash, userId, identitySecret))
    throw new AppError('forbidden', WRONG)
  return true
}

const WHAT_IT_IS =
  'It is the HMAC-SHA-256 of the userId by the identity secret of the project, as 64 hexadecimal characters; compute it ' +
  'on your server'
const MISSING = `userHash is missing, and this project requires it beside a userId. ${WHAT_IT_IS}`
const WRONG = `userHash does not belong to this userId. ${WHAT_IT_IS}`
