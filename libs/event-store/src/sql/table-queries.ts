import { LATEST_ANALYTICS_TIME } from '@waymark/contracts/http/analytics-parts'
import type { Dialect, Parameters } from './dialect.ts'

/** After the last event that queries see, in ms. */
export const END = Date.parse(LATEST_ANALYTICS_TIME)

/** The person of an event `e`: the profile that the event's profile was merged into, or itself. */
export const PERSON = 'coalesce(merge.merged_into, e.profile_id)'

type Scope = {
  projectId: string
  from: number
  to: number
  eventName?: string | undefined
  includeBots?: boolean
}

type Joins = {
  /** One row for each `conversion`, including those of erased people. */
  conversions?: boolean
  /** The `merge` that `PERSON` needs. */
  people?: boolean
  /** `person` with the traits. */
  traits?: boolean
  /** The join that finds the bucket. */
  bucket?: string
}

/** Joins rows `e` that have a `profile_id` with the `merge` that `PERSON` needs. */
export const mergesOf = (dialect: Dialect, projectId: string, parameters: Parameters): string => `
  LEFT JOIN (
    SELECT profile_id, merged_into FROM ${dialect.profiles}
    WHERE project_id = ${parameters.projectId(projectId)} AND merged_into IS NOT NULL
  ) AS merge ON merge.profile_id = e.profile_id`

/** Joins events `e` with `person`, the traits of their person. */
export const personsOf = (dialect: Dialect, projectId: string, parameters: Parameters): string => `
  ${mergesOf(dialect, projectId, parameters)}
  LEFT JOIN (
    SELECT profile_id, traits FROM ${dialect.profiles} WHERE project_id = ${parameters.projectId(projectId)}
  ) AS person ON person.profile_id = ${PERSON}`

/** Selects everyone who has traits; of merged profiles only the one that they became. */
export const peopleWithTraits = (dialect: Dialect, projectId: string, parameters: Parameters): string => `
  SELECT profile_id, traits FROM ${dialect.profiles}
  WHERE project_id = ${parameters.projectId(projectId)} AND merged_into IS NULL`

/** FROM and WHERE of the events `e` of a range. */
export const eventsFrom = (
  dialect: Dialect,
  { projectId, from, to, eventName, includeBots = false }: Scope,
  parameters: Parameters,
  { conversions = false, people = false, traits = false, bucket = '' }: Joins = {},
): string => {
  const project = parameters.projectId(projectId)
  const peopleOf = (): string => {
    if (traits) return personsOf(dialect, projectId, parameters)
    return people ? mergesOf(dialect, projectId, parameters) : ''
  }
  const joins = [bucket, peopleOf(), conversions ? dialect.unnestConversions : '']
  return `
    FROM ${dialect.events} ${joins.filter((join) => join !== '').join('\n')}
    WHERE e.project_id = ${project} AND e."time" >= ${parameters.time(from)} AND e."time" < ${parameters.time(to)}
      ${includeBots ? '' : 'AND NOT e.bot'} ${conversions ? '' : 'AND NOT e.erased'}
      ${eventName === undefined ? '' : `AND e.event_name = ${parameters.text(eventName)}`}`
}

type Grouping = {
  grouped: boolean
  /** The expression that ranks groups. */
  rank: string
  maxGroups: number
  /** Whether a `label` is one of the groups, as SQL; otherwise they are the greatest. */
  isGroup?: string | undefined
}

/**
 * Common table expressions that end in `labelled`: the rows of `from` with `columns`, their `label`, and whether they
 * are `other`, in none of the greatest groups. Without groups there is one group, with the label NULL.
 */
export const labelledRows = (
  dialect: Dialect,
  from: string,
  columns: readonly string[],
  { grouped, rank, maxGroups, isGroup }: Grouping,
): string[] => {
  const selected = columns.map((column) => `${from}.${column} AS ${column}`).join(', ')
  if (!grouped)
    return [`labelled AS (SELECT ${selected}, ${dialect.nullText} AS label, false AS other FROM ${from})`]
  return [
    `tops AS (${
      isGroup
        ? `SELECT DISTINCT label, true AS is_top FROM ${from} WHERE ${isGroup}`
        : `SELECT label, true AS is_top FROM ${from} GROUP BY label ORDER BY ${rank} DESC, label LIMIT ${maxGroups}`
    })`,
    `labelled AS (
      SELECT ${selected}, tops.label AS label, tops.is_top IS NULL AS other
      FROM ${from} LEFT JOIN tops ON tops.label IS NOT DISTINCT FROM ${from}.label
    )`,
  ]
}
