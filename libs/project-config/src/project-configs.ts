import { type Cache, type CachedValue, createReadThroughCache, readCopy } from '@waymark/cache'
import { type Log, projectSettings } from '@waymark/contracts'
import {
  type Catalog,
  type CompiledSelector,
  type CompiledTrigger,
  compileEventSchema,
  compileSelector,
  compileTrigger,
  createDecisionSet,
  type DecisionSet,
  partsOf,
} from '@waymark/domain'
import type { Pool } from 'pg'
import { createCompileOnce } from './compile-once.ts'
import type { ChangeNotices } from './config-changes.ts'
import { createDecisionCompiler } from './decision-compiler.ts'
import { type Snapshot, snapshot } from './snapshot.ts'

/** A project's configuration as the hot path uses it; everything in it is compiled when first needed. */
export type ProjectConfig = Catalog & {
  projectId: string
  /** The selectors for events of that name. */
  selectorsFor: (eventName: string) => readonly CompiledSelector[]
  decisions: DecisionSet
  /** The active email triggers for events of that name. */
  triggersFor: (eventName: string) => readonly CompiledTrigger[]
  /**
   * Compiles what a use of events of these names needs, each part in a turn of its own: all at once would keep other
   * requests waiting.
   */
  prepare: (use: 'ingestion' | 'emails', eventNames: Iterable<string>, turns: Turns) => Promise<void>
  /** What user hashes are computed with: `null` when the project has none, `undefined` when it could not be read. */
  identitySecret?: string | null | undefined
}

/** Turns of the event loop, as `LoopTurns` of the pipeline gives them. */
export type Turns = { isOver: () => boolean; next: () => Promise<void> }

const MAX_PROJECTS = 5_000
/** How long a configuration is used while the database does not answer, and its copy is kept, in ms. */
const MAX_STALE_MS = 5 * 60_000
/** Parts of schemas that are kept compiled. Each takes some 600 bytes of memory. */
const MAX_SCHEMA_PARTS_KEPT = 100_000
/** Characters of filters' JSON that are kept compiled. Each takes some 4 bytes of memory. */
const MAX_FILTER_CHARACTERS_KEPT = 4 * 1024 * 1024
// The version changes with the shape, since old and new processes share the cache during a roll-out.
const copyKey = (projectId: string) => `project-config:v3:${projectId}`

// One statement, so that all of it is from one moment.
const SELECT = `
  SELECT p.settings,
    (SELECT secret FROM core.identity_secrets s WHERE s.project_id = p.id) AS "identitySecret",
    (SELECT coalesce(jsonb_object_agg(d.name, d.schema), '{}') FROM core.event_definitions d
      WHERE d.project_id = p.id AND d.archived_at IS NULL) AS definitions,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'eventName', s.event_name, 'filter', s.filter,
        'amountProperty', s.amount_property, 'currencyProperty', s.currency_property,
        'quantityProperty', s.quantity_property) ORDER BY s.id), '[]') FROM core.metering_selectors s
      WHERE s.project_id = p.id AND s.archived_at IS NULL) AS selectors,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'eventName', t.event_name, 'filter', t.filter,
        'cooldownSeconds', t.cooldown_seconds, 'activatedAt', t.activated_at) ORDER BY t.id), '[]')
      FROM email.triggers t WHERE t.project_id = p.id AND t.status = 'active') AS triggers,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'key', d.key, 'status', d.status, 'version', d.version,
        'definition', d.definition) ORDER BY d.id), '[]') FROM decision.decisions d
      WHERE d.project_id = p.id) AS decisions
  FROM core.projects p WHERE p.id = $1 AND p.archived_at IS NULL`

export type ProjectConfigsDeps = {
  pool: Pool
  cache: Cache
  changes: Pick<ChangeNotices, 'isCurrent'>
  log: Log
  now: () => number
}

/** Reads the configuration of projects: from memory, else from PostgreSQL, else from the copies in the shared cache. */
export const createProjectConfigs = ({ pool, cache, changes, log, now }: ProjectConfigsDeps) => {
  const compilers = createCompilers()
  const read = async (projectId: string) => {
    const { rows } = await pool.query<Omit<Snapshot, 'projectId'>>({
      name: 'project-config',
      text: SELECT,
      values: [projectId],
    })
    const [row] = rows
    if (!row) return null
    const found = { projectId, ...row }
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
    isCurrent: ({ projectId }, readAt) => changes.isCurrent(projectId, readAt),
    maxStaleMs: MAX_STALE_MS,
    max: MAX_PROJECTS,
    now,
    log,
  })

  const orNothing = (projectId: string, config: CachedValue<ProjectConfig> | null): ProjectConfig =>
    config?.value ?? compile({ ...NOTHING, projectId }, log, compilers)

  return {
    /**
     * The configuration of a project that a valid key belongs to. An archived one has an empty configuration.
     * @throws AppError store_unavailable when it is not cached and no store answers
     */
    get: async (projectId: string): Promise<ProjectConfig> =>
      orNothing(projectId, await configs.get(projectId)),
    /**
     * The same, for work that can wait: never outdated, also while reads take long.
     * @throws what the database throws
     */
    getCurrent: async (projectId: string): Promise<ProjectConfig> => {
      const cached = await configs.get(projectId)
      if (cached === null || changes.isCurrent(projectId, cached.readAt)) return orNothing(projectId, cached)
      const startedAt = now()
      const found = await read(projectId)
      if (found) configs.set(projectId, found.value, startedAt)
      return found?.value ?? orNothing(projectId, null)
    },
    /** The same, read again, for a request that follows a change. @throws as `get` */
    getLatest: async (projectId: string): Promise<ProjectConfig> =>
      orNothing(projectId, await configs.getLatest(projectId)),
  }
}

/** Reads configurations, also as they are at this moment. */
export type LatestProjectConfigs = ReturnType<typeof createProjectConfigs>
export type ProjectConfigs = Pick<LatestProjectConfigs, 'get'>

/** What compiles the parts of all projects, each part once. */
const createCompilers = () => {
  const filters = {
    sizeOf: (part: object) => JSON.stringify(part).length,
    maxSize: MAX_FILTER_CHARACTERS_KEPT,
  }
  return {
    schema: createCompileOnce(compileEventSchema, { sizeOf: partsOf, maxSize: MAX_SCHEMA_PARTS_KEPT }),
    selector: createCompileOnce(compileSelector, filters),
    trigger: createCompileOnce(compileTrigger, filters),
    decision: createDecisionCompiler(),
  }
}

const compile = (
  { projectId, settings, definitions, selectors, triggers, decisions, identitySecret }: Snapshot,
  log: Log,
  compilers: ReturnType<typeof createCompilers>,
): ProjectConfig => {
  const schemas = new Map(Object.entries(definitions))
  const selectorsByName = Map.groupBy(selectors, ({ eventName }) => eventName)
  const compiledSelectors = new Map<string, CompiledSelector[]>()
  const triggersByName = Map.groupBy(triggers, ({ eventName }) => eventName)
  const compiledTriggers = new Map<string, CompiledTrigger[]>()
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
      // It was checked when it was saved; an event must not fail because of it.
      unusable.add(part)
      log.error({ projectId, what, err: error }, 'Configuration part could not be compiled and is ignored')
      return undefined
    }
  }
  const compileSelectorPart = (selector: Snapshot['selectors'][number]) =>
    compileOrSkip('metering selector', selector, compilers.selector)
  const compileTriggerPart = (trigger: Snapshot['triggers'][number]) =>
    compileOrSkip('email trigger', trigger, compilers.trigger)

  const checkFor = (eventName: string) => {
    const schema = schemas.get(eventName)
    // Not kept here, so that what is compiled for all projects takes a bounded amount of memory.
    return schema && compileOrSkip('event definition', schema, compilers.schema)
  }

  /** The steps in which that is compiled which a use of an event needs. */
  const compilationsFor = (use: 'ingestion' | 'emails', eventName: string): (() => unknown)[] => {
    if (use === 'emails') {
      const triggers = compiledTriggers.has(eventName) ? [] : (triggersByName.get(eventName) ?? [])
      return triggers.map((trigger) => () => compileTriggerPart(trigger))
    }
    const selectors = compiledSelectors.has(eventName) ? [] : (selectorsByName.get(eventName) ?? [])
    return [() => checkFor(eventName), ...selectors.map((selector) => () => compileSelectorPart(selector))]
  }

  return {
    projectId,
    settings: projectSettings.fits(settings) ? settings : {},
    hasDefinitions: schemas.size > 0,
    identitySecret,
    checkFor,
    selectorsFor: (eventName) => {
      const ofName = selectorsByName.get(eventName)
      if (ofName === undefined) return NONE
      const found =
        compiledSelectors.get(eventName) ?? ofName.flatMap((selector) => compileSelectorPart(selector) ?? [])
      compiledSelectors.set(eventName, found)
      return found
    },
    decisions: createDecisionSet(
      decisions.map((decision) => ({ ...decision, projectId })),
      (decision) => compileOrSkip('decision', decision, compilers.decision),
    ),
    triggersFor: (eventName) => {
      const ofName = triggersByName.get(eventName)
      if (ofName === undefined) return NO_TRIGGERS
      const found =
        compiledTriggers.get(eventName) ?? ofName.flatMap((trigger) => compileTriggerPart(trigger) ?? [])
      compiledTriggers.set(eventName, found)
      return found
    },
    prepare: async (use, eventNames, turns) => {
      for (const eventName of eventNames) {
        for (const compilePart of compilationsFor(use, eventName)) {
          if (turns.isOver()) await turns.next()
          compilePart()
        }
      }
    },
  }
}

const NONE: readonly CompiledSelector[] = []
const NOTHING = { settings: {}, definitions: {}, selectors: [], triggers: [], decisions: [] }
const NO_TRIGGERS: readonly CompiledTrigger[] = []
