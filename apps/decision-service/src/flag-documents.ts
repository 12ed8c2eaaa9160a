import { hash } from 'node:crypto'
import type { Decision } from '@waymark/contracts/decision-definition'
import { type DecisionSet, isPublished, localFlagOf } from '@waymark/domain/decision'
import type { ProjectConfigs } from '@waymark/project-config'
import { LoopTurns } from '@waymark/service-kit'
import { LRUCache } from 'lru-cache'
import { lengthDelimited, messageFrame } from './grpc-messages.ts'

/** The local decisions of an environment in the format of flagd. Everyone who reads it shares its bytes. */
export type FlagDocument = {
  etag: string
  /** JSON. */
  json: Buffer
  /** The same as a message of `SyncFlags` and `FetchAllFlags`. */
  message: Buffer
  decisionIds: readonly string[]
}

/** The document of a project in an environment, as this process knows it. */
export type ReadFlagDocument = (projectId: string, environment: string) => Promise<FlagDocument>

const MAX_DOCUMENTS = 1_000
/** Most characters of the flags in memory, of all projects. */
const MAX_FLAG_CHARACTERS = 32 * 1024 * 1024
/** The field `flag_configuration` of the messages. */
const FLAG_CONFIGURATION = 1

/** Reads documents, which are made once for each change of a project. */
export const createFlagDocuments = (projectConfigs: ProjectConfigs): ReadFlagDocument => {
  const documents = new LRUCache<string, { of: DecisionSet; document: Promise<FlagDocument> }>({
    max: MAX_DOCUMENTS,
  })
  /** The JSON of flags by version; empty for a decision that is not local. */
  const flags = new LRUCache<string, string, Decision>({
    maxSize: MAX_FLAG_CHARACTERS,
    sizeCalculation: (text) => 1 + text.length,
    memoMethod: (_version, _known, { context: decision }) => {
      const flag = localFlagOf(decision)
      return Array.isArray(flag) ? '' : `${JSON.stringify(decision.key)}:${JSON.stringify(flag)}`
    },
  })

  const make = async (
    decisions: DecisionSet,
    environment: string,
    before: FlagDocument | undefined,
  ): Promise<FlagDocument> => {
    const turns = new LoopTurns()
    const local: { id: string; flag: string }[] = []
    for (const decision of decisions.all.filter(isPublished)) {
      if (turns.isOver()) await turns.next()
      const { id, version } = decision
      const flag = flags.memo(`${id}:${version}:${environment}`, { context: decision })
      if (flag !== '') local.push({ id, flag })
    }
    // With a scope of their own, so that flags do not get the selector as theirs, which may be a key.
    const metadata = JSON.stringify({ scope: environment })
    const json = Buffer.from(`{"flags":{${local.map(({ flag }) => flag).join(',')}},"metadata":${metadata}}`)
    const etag = `"${hash('sha256', json, 'base64url')}"`
    if (before?.etag === etag) return before
    const message = messageFrame(lengthDelimited(FLAG_CONFIGURATION, json))
    return {
      etag,
      json: message.subarray(message.length - json.length),
      message,
      decisionIds: local.map(({ id }) => id),
    }
  }

  return async (projectId, environment) => {
    const config = await projectConfigs.get(projectId)
    const decisions = config.decisions.in(environment)
    const key = `${projectId}:${environment}`
    const known = documents.get(key)
    if (known?.of === decisions) return known.document
    const before = await known?.document.catch(() => undefined)
    const made = { of: decisions, document: make(decisions, environment, before) }
    documents.set(key, made)
    return made.document
  }
}
