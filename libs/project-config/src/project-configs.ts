import { hash } from 'node:crypto'
import { type Cache, type CachedValue, createReadThroughCache, readCopy } from '@waymark/cache'
import type { Decision } from '@waymark/contracts/decision-definition'
import type { Log } from '@waymark/contracts/log'
import type { LoyaltyProgramme } from '@waymark/contracts/loyalty'
import { knownSettings } from '@waymark/contracts/project-settings'
import {
  type Catalog,
  compileEventSchema,
  partsOf,
  uncheckedProperties,
  unsupportedKeywords,
} from '@waymark/domain/catalog'
import { type CompiledSelector, compileSelector } from '@waymark/domain/conversion'
import {
  type CompiledDecision,
  compileDecision,
  compileSegment,
  createDecisionSet,
  createSegmentSet,
  type DecisionSet,
} from '@waymark/domain/decision'
import { type CompiledTrigger, compileTrigger } from '@waymark/domain/email'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { ChangeNotices } from './config-changes.ts'
import { readSnapshot, type Snapshot, snapshot } from './snapshot-queries.ts'

/** A project's configuration for the hot path. Its parts are compiled on first use. */
export type ProjectConfig = Catalog & {
  projectId: string
  /** Empty when the project is not known. */
  tenantId: string
  /** The metering selectors for an event name. */
  selectorsFor: (eventName: string) => readonly CompiledSelector[]
  decisions: DecisionSet
  /** The active email triggers for an event name. */
  triggersFor: (eventName: string) => readonly CompiledTrigger[]
  /** The loyalty programmes that are not archived. */
  loyaltyProgrammes: readonly LoyaltyProgramme[]
  /** Compiles what `use` needs for events of these names. Yields to the event loop between parts. */
  prepare: (use: 'ingestion' | 'emails', eventNames: Iterable<string>, turns: Turns) => Promise<void>
  /** The secret of user hashes: `null` when the project has none, `undefined` when it could not be read. */
  identitySecret?: string | null | undefined
}

/** What `LoopTurns` of service-kit implements. */
export type Turns = { isOver: () => boolean; next: () => Promise<void> }

const MAX_PROJECTS = 5_000
/** How long a configuration is used while the database does not answer, and how long its copy is kept, in ms. */
const MAX_STALE_MS = 5 * 60_000
/** Most parts of compiled schemas in memory. Each takes about 600 bytes. */
const MAX_SCHEMA_PARTS = 100_000
/** Most characters of the JSON of compiled filters in memory. Each takes about 4 bytes. */
const MAX_FILTER_CHARACTERS = 4 * 1024 * 1024
const MAX_DECISIONS = 10_000
// The version changes with the shape, because old and new processes share the cache during an upgrade.
const copyKey = (projectId: string) => `project-config:v6:${projectId}`

type ProjectConfigsDeps = {
  pool: Pool
  cache: Cache
  changes: Pick<ChangeNotices, 'isCurrent' | 'isWatching'>
  log: Log
  now: () => number
}

/** Reads the configuration of projects from memory, else from PostgreSQL, else from a copy in the shared cache. */
export const createProjectConfigs = ({ pool, cache, changes, log, now }: ProjectConfigsDeps) => {
  const compilers = createCompilers()
  const read = async (projectId: string) => {
    const found = await readSnapshot(pool, projectId)
    if (!found) return null
    const { identitySecret: _secret, ...copy } = found
    await cache.set(copyKey(projectId), JSON.stringify(copy), MAX_STALE_MS)
    return { value: compile(found, log, compilers) }
  }
  const configs = createReadThroughCache<ProjectConfig>({
    name: 'project configurations',
    read,
    readCopy: async (projectId) => {
      const copy = await readCopy(cache, copyKey(projectId), snapshot)
      return copy?.projectId === projectId ? { value: compile(copy, log, compilers) } : null
    },
    // While the database is known not to answer, no request waits for it.
    isCurrent: ({ projectId }, readAt) =>
      changes.isCurrent(projectId, readAt) || (!changes.isWatching() && now() - readAt < MAX_STALE_MS),
    maxStaleMs: MAX_STALE_MS,
    max: MAX_PROJECTS,
    now,
    log,
  })

  const orEmpty = (projectId: string, config: CachedValue<ProjectConfig> | null): ProjectConfig =>
    config?.value ?? compile({ ...EMPTY, projectId }, log, compilers)

  return {
    /**
     * The configuration of a project. It is empty for an archived project.
     * @throws AppError store_unavailable when it is not cached and no store answers
     */
    get: async (projectId: string): Promise<ProjectConfig> =>
      orEmpty(projectId, await configs.get(projectId)),
    /**
     * Like `get`, but never outdated, for background work that can wait for a slow database.
     * @throws what the database throws
     */
    getCurrent: async (projectId: string): Promise<ProjectConfig> => {
      const cached = await configs.get(projectId)
      if (cached === null || changes.isCurrent(projectId, cached.readAt)) return orEmpty(projectId, cached)
      const startedAt = now()
      const found = await read(projectId)
      if (found) configs.set(projectId, found.value, startedAt)
      return found?.value ?? orEmpty(projectId, null)
    },
    /** Like `get`, but read again, for a request that follows a change. @throws as `get` */
    getLatest: async (projectId: string): Promise<ProjectConfig> =>
      orEmpty(projectId, await configs.getLatest(projectId)),
  }
}

export type LatestProjectConfigs = ReturnType<typeof createProjectConfigs>
export type ProjectConfigs = Pick<LatestProjectConfigs, 'get'>

/** Compilers that are shared by all projects and compile each part once. */
const createCompilers = () => {
  const filters = {
    sizeOf: (part: object) => JSON.stringify(part).length,
    maxSize: MAX_FILTER_CHARACTERS,
  }
  const decisions = new LRUCache<string, CompiledDecision, Decision>({
    max: MAX_DECISIONS,
    memoMethod: (_version, _known, { context }) => compileDecision(context),
  })
  return {
    schema: createCompileOnce(compileEventSchema, { sizeOf: partsOf, maxSize: MAX_SCHEMA_PARTS }),
    selector: createCompileOnce(compileSelector, filters),
    trigger: createCompileOnce(compileTrigger, filters),
    decision: (decision: Decision) =>
      decisions.memo(`${decision.id}:${decision.version}:${decision.environment ?? ''}`, {
        context: decision,
      }),
  }
}

const compile = (
  stored: Snapshot,
  log: Log,
  compilers: ReturnType<typeof createCompilers>,
): ProjectConfig => {
  const { projectId, settings, definitions, selectors, triggers, decisions, segments } = stored
  const schemas = new Map(Object.entries(definitions))
  const unusable = new Set<object>()

  const compileOrSkip = <Part extends object, T>(
    what: string,
    part: Part,
    work: (part: Part) => T,
  ): T | undefined => {
    if (unusable.has(part)) return undefined
    try {
      return work(part)
    } catch (error) {
      // It was valid when it was saved, and an event must not fail because of it.
      unusable.add(part)
      log.error({ projectId, what, err: error }, 'Configuration part could not be compiled and is ignored')
      return undefined
    }
  }
  const examined = new Set<string>()
  /** Schemas of earlier versions may hold keywords that are refused now. */
  const warnOfUnsupported = (eventName: string, schema: object): void => {
    if (examined.has(eventName)) return
    examined.add(eventName)
    const keywords = unsupportedKeywords(schema)
    if (keywords.length === 0) return
    const message = 'Event definition has keywords that are not supported and are ignored'
    log.warn({ projectId, eventName, keywords: keywords.slice(0, 10) }, message)
  }
  const checkFor = (eventName: string) => {
    const schema = schemas.get(eventName)
    if (schema === undefined) return undefined
    warnOfUnsupported(eventName, schema)
    // Not kept here, so that the memory of compiled schemas is bounded over all projects.
    return compileOrSkip('event definition', schema, compilers.schema) ?? uncheckedProperties
  }

  const byEventName = <Part extends { eventName: string }, T>(
    parts: readonly Part[],
    compilePart: (part: Part) => T | undefined,
  ) => {
    const partsByName = Map.groupBy(parts, ({ eventName }) => eventName)
    const compiledByName = new Map<string, readonly T[]>()
    return {
      /** The compiled parts for an event name. */
      get: (eventName: string): readonly T[] => {
        const known = compiledByName.get(eventName)
        if (known !== undefined) return known
        const named = partsByName.get(eventName)
        // Names without parts are not kept: clients choose them.
        if (named === undefined) return []
        const compiled = named.flatMap((part) => compilePart(part) ?? [])
        compiledByName.set(eventName, compiled)
        return compiled
      },
      /** The steps that compile what `get` returns. */
      steps: (eventName: string): (() => unknown)[] =>
        compiledByName.has(eventName)
          ? []
          : (partsByName.get(eventName) ?? []).map((part) => () => compilePart(part)),
    }
  }
  const selectorsOf = byEventName(selectors, (selector) =>
    compileOrSkip('metering selector', selector, compilers.selector),
  )
  const triggersOf = byEventName(triggers, (trigger) =>
    compileOrSkip('email trigger', trigger, compilers.trigger),
  )
  const stepsFor = (use: 'ingestion' | 'emails', eventName: string): (() => unknown)[] =>
    use === 'emails'
      ? triggersOf.steps(eventName)
      : [() => checkFor(eventName), ...selectorsOf.steps(eventName)]

  return {
    projectId,
    tenantId: stored.tenantId,
    settings: knownSettings(settings),
    hasDefinitions: schemas.size > 0,
    identitySecret: stored.identitySecret,
    checkFor,
    selectorsFor: selectorsOf.get,
    triggersFor: triggersOf.get,
    loyaltyProgrammes: stored.loyaltyProgrammes,
    decisions: createDecisionSet(
      decisions.map((decision) => ({ ...decision, projectId })),
      (decision) => compileOrSkip('decision', decision, compilers.decision),
      createSegmentSet(segments, (segment) => compileOrSkip('segment', segment, compileSegment)),
    ),
    prepare: async (use, eventNames, turns) => {
      for (const eventName of eventNames) {
        for (const compileStep of stepsFor(use, eventName)) {
          if (turns.isOver()) await turns.next()
          compileStep()
        }
      }
    },
  }
}

const EMPTY = {
  tenantId: '',
  settings: {},
  definitions: {},
  selectors: [],
  triggers: [],
  decisions: [],
  segments: [],
  loyaltyProgrammes: [],
}

/**
 * Compiles parts of configurations and caches them by their content, because a project is read again whenever anything
 * in it changes. When the sizes add up to more than `maxSize`, the least recently used are evicted.
 * @param compile may throw; a failure is not cached
 */
export const createCompileOnce = <Part extends object, Compiled extends object>(
  compile: (part: Part) => Compiled,
  { sizeOf, maxSize }: { sizeOf: (part: Part) => number; maxSize: number },
): ((part: Part) => Compiled) => {
  const compiled = new LRUCache<string, Compiled, object>({
    maxSize,
    memoMethod: (_hash, _known, { options, context }) => {
      // The types of lru-cache do not take a context of a generic type.
      const part = context as Part
      options.size = 1 + Math.ceil(sizeOf(part))
      return compile(part)
    },
  })
  const hashes = new WeakMap<Part, string>()

  const hashOf = (part: Part): string => {
    const known = hashes.get(part)
    if (known !== undefined) return known
    const fresh = hash('sha256', JSON.stringify(part), 'base64url')
    hashes.set(part, fresh)
    return fresh
  }

  return (part) => compiled.memo(hashOf(part), { context: part })
}
