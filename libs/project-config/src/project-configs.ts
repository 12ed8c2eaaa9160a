import { type Cache, readCopy } from '@waymark/cache'
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
  type PropertyCheck,
} from '@waymark/domain'
import type { Pool } from 'pg'
import type { ChangeNotices } from './config-changes.ts'
import { type CompileDecision, createDecisionCompiler } from './decision-compiler.ts'
import { createRemembered } from './remembered.ts'
import { type Snapshot, snapshot } from './snapshot.ts'

/** A project's configuration as the hot path uses it; everything in it is compiled when first needed. */
export type ProjectConfig = Catalog & {
  projectId: string
  /** The selectors for events of that name. */
  selectorsFor: (eventName: string) => readonly CompiledSelector[]
  decisions: DecisionSet
  /** The active email triggers for events of that name. */
  triggersFor: (eventName: string) => readonly CompiledTrigger[]
}

const MAX_PROJECTS = 5_000
const COPY_MS = 5 * 60_000
// The version changes with the shape, since old and new processes share the cache during a roll-out.
const copyKey = (projectId: string) => `project-config:v3:${projectId}`

// One statement, so that all of it is from one moment.
const SELECT = `
  SELECT p.settings,
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
  changes: ChangeNotices
  log: Log
  now: () => number
}

/** Knows the configuration of projects: from memory, else Postgres; while that is away from the cache's copies. */
export const createProjectConfigs = ({ pool, cache, changes, log, now }: ProjectConfigsDeps) => {
  const compileDecision = createDecisionCompiler()
  const configs = createRemembered<ProjectConfig>({
    read: async (projectId) => {
      const { rows } = await pool.query<Omit<Snapshot, 'projectId'>>({
        name: 'project-config',
        text: SELECT,
        values: [projectId],
      })
      const [row] = rows
      if (!row) return null
      const read = { projectId, ...row }
      await cache.set(copyKey(projectId), JSON.stringify(read), COPY_MS)
      return compile(read, log, compileDecision)
    },
    readCopy: async (projectId) => {
      const copy = await readCopy(cache, copyKey(projectId), snapshot)
      return copy?.projectId === projectId ? compile(copy, log, compileDecision) : null
    },
    isCurrent: ({ projectId }, readAt) => changes.isCurrent(projectId, readAt),
    max: MAX_PROJECTS,
    now,
    log,
  })

  const orNothing = (projectId: string, config: ProjectConfig | null): ProjectConfig =>
    config ?? compile({ ...NOTHING, projectId }, log, compileDecision)

  return {
    /**
     * The configuration of a project that a valid key belongs to. An archived one has an empty configuration.
     * @throws AppError store_unavailable when it is not remembered and no store answers
     */
    get: async (projectId: string): Promise<ProjectConfig> =>
      orNothing(projectId, await configs.get(projectId)),
    /** The same, read again: for somebody who has just changed it and expects the next request to know. @throws as `get` */
    getLatest: async (projectId: string): Promise<ProjectConfig> =>
      orNothing(projectId, await configs.getLatest(projectId)),
  }
}

/** Reads configurations, also as they are at this moment. */
export type LatestProjectConfigs = ReturnType<typeof createProjectConfigs>
export type ProjectConfigs = Pick<LatestProjectConfigs, 'get'>

const compile = (
  { projectId, settings, definitions, selectors, triggers, decisions }: Snapshot,
  log: Log,
  compileDecision: CompileDecision,
): ProjectConfig => {
  const schemas = new Map(Object.entries(definitions))
  const checks = new Map<string, PropertyCheck | undefined>()
  const byName = Map.groupBy(selectors, ({ eventName }) => eventName)
  const compiled = new Map<string, CompiledSelector[]>()
  const triggersByName = Map.groupBy(triggers, ({ eventName }) => eventName)
  const compiledTriggers = new Map<string, CompiledTrigger[]>()

  const compileOrSkip = <T>(what: string, work: () => T): T | undefined => {
    try {
      return work()
    } catch (error) {
      // It was checked when it was saved; an event must not fail because of it.
      log.error(
        { projectId, what, err: error },
        'a part of the configuration cannot be compiled and is left out',
      )
      return undefined
    }
  }

  return {
    projectId,
    settings: projectSettings.fits(settings) ? settings : {},
    checkFor: (eventName) => {
      const schema = schemas.get(eventName)
      if (schema !== undefined && !checks.has(eventName)) {
        checks.set(
          eventName,
          compileOrSkip('event definition', () => compileEventSchema(schema)),
        )
      }
      return checks.get(eventName)
    },
    selectorsFor: (eventName) => {
      const ofName = byName.get(eventName)
      if (ofName === undefined) return NONE
      let found = compiled.get(eventName)
      if (found === undefined) {
        found = ofName.flatMap(
          (selector) => compileOrSkip('metering selector', () => compileSelector(selector)) ?? [],
        )
        compiled.set(eventName, found)
      }
      return found
    },
    decisions: createDecisionSet(
      decisions.map((decision) => ({ ...decision, projectId })),
      (decision) => compileOrSkip('decision', () => compileDecision(decision)),
    ),
    triggersFor: (eventName) => {
      const ofName = triggersByName.get(eventName)
      if (ofName === undefined) return NO_TRIGGERS
      let found = compiledTriggers.get(eventName)
      if (found === undefined) {
        found = ofName.flatMap(
          (trigger) => compileOrSkip('email trigger', () => compileTrigger(trigger)) ?? [],
        )
        compiledTriggers.set(eventName, found)
      }
      return found
    },
  }
}

const NONE: readonly CompiledSelector[] = []
const NOTHING = { settings: {}, definitions: {}, selectors: [], triggers: [], decisions: [] }
const NO_TRIGGERS: readonly CompiledTrigger[] = []
