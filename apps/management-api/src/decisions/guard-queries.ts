import type { DecisionMetric } from '@waymark/contracts/decision-definition'
import { Prisma } from '@waymark/database'
import type { GuardStratum, Sample } from '@waymark/domain/experiment'
import { findInTurns } from '../due-queries.ts'
import {
  CONVERSIONS,
  EVENTS,
  measureInSnapshot,
  type Stores,
  USABLE_VALUE,
  VALUES,
} from './decision-results-queries.ts'

type Db = Pick<Prisma.TransactionClient, '$queryRaw'>

/** Decisions of a project that are evaluated before other projects have their turn again. */
const PER_PROJECT = 5

/**
 * The ids of decisions whose guards are due, up to `limit`. Projects take turns, so that one with very many guards does not
 * delay those of others.
 */
export const findDueGuards = (db: Db, now: Date, limit: number): Promise<string[]> =>
  findInTurns(
    db,
    Prisma.sql`SELECT id, project_id, guards_due_at AS due_at FROM decision.decisions WHERE guards_due_at <= ${now}`,
    { perProject: PER_PROJECT, limit },
  )

/**
 * The address of whoever made the newest version of a decision that a person or a key made: the member, or the owner of the
 * key. An owner of the project if they are no member any more. Undefined without anyone.
 */
export const findResponsible = async (
  db: Db,
  projectId: string,
  decisionId: string,
): Promise<string | undefined> => {
  const [found] = await db.$queryRaw<{ email: string }[]>`
    WITH author AS (
      SELECT coalesce(k.owner_id::text, v.changed_by_id) AS id FROM decision.decision_versions v
      LEFT JOIN core.api_keys k ON v.changed_by_kind = 'key' AND k.id::text = v.changed_by_id
      WHERE v.decision_id = ${decisionId}::uuid AND v.changed_by_kind IN ('user', 'key')
      ORDER BY v.version DESC LIMIT 1
    )
    SELECT u.email FROM core.project_members m JOIN core.users u ON u.id = m.user_id
    WHERE m.project_id = ${projectId}::uuid
      AND (m.role = 'owner' OR m.user_id::text = (SELECT id FROM author))
    ORDER BY (m.user_id::text = (SELECT id FROM author)) DESC NULLS LAST, m.user_id LIMIT 1`
  return found?.email
}

/** The people whom a guard compares. */
export type GuardedPeople = {
  projectId: string
  /** The id of the decision's exposures in the environment. */
  countingId: string
  ruleId: string
  control: string
  /** Whether the control are the people outside of the rule's ramp, else a variant of its split. */
  isRamp: boolean
  /** When the strata begin, in ms since the epoch, ascending. Each ends with the next one. */
  starts: readonly number[]
}

/** People by stratum and variant, and the samples of each metric by the same. */
export type GuardSamples = {
  people: ReadonlyMap<string, number>[]
  metrics: ReadonlyMap<string, Sample>[][]
}

// A person counts in the stratum of their first exposure, with what they did until it ended: the next step may give others
// the variant.
const PEOPLE = `
  strata AS (
    SELECT place::int, start, lead(start, 1, 'infinity') OVER (ORDER BY place) AS until
    FROM unnest($2::timestamptz[]) WITH ORDINALITY AS s (start, place)
  ), exposed AS (
    SELECT coalesce(p.merged_into, e.profile_id) AS person, e.exposed_at,
      CASE WHEN e.reason = 'DEFAULT' THEN $5 ELSE e.variant END AS variant
    FROM decision.exposures e LEFT JOIN ingest.profiles p ON p.id = e.profile_id
    WHERE e.decision_id = $1 AND e.exposed_at >= ($2::timestamptz[])[1]
      AND (e.rule_id = $3 AND e.reason = CASE WHEN $4 THEN 'TARGETING_MATCH' ELSE 'SPLIT' END
        OR $4 AND e.reason = 'DEFAULT')
  ), firsts AS (
    SELECT DISTINCT ON (person) person, variant, exposed_at AS since FROM exposed ORDER BY person, exposed_at, variant
  ), people AS (
    SELECT firsts.*, place, until FROM firsts JOIN strata ON since >= start AND since < until
  )`

const COUNT_PEOPLE = `
  WITH ${PEOPLE} SELECT place, variant, count(*)::int AS people FROM people GROUP BY place, variant`

/** The parameters of what happened follow those of the people. */
const sumByStratum = (happened: string, kind: DecisionMetric['kind']): string => `
  WITH ${PEOPLE}, happened AS (${happened}), observed AS (
    SELECT people.person, people.place, people.variant, ${USABLE_VALUE} AS value, h.at, true AS after
    FROM people LEFT JOIN happened h
      ON h.person = people.person AND h.at >= people.since AND h.at < people.until
  ), persons AS (
    SELECT place, variant, ${VALUES[kind]}
    FROM observed CROSS JOIN (SELECT 'infinity'::timestamptz AS time) AS times GROUP BY place, variant, person
  )
  SELECT place, variant, count(y)::int AS people, coalesce(sum(y), 0)::float8 AS sum,
    coalesce(sum(y::float8 ^ 2), 0) AS "sumOfSquares"
  FROM persons GROUP BY place, variant`

type SumsRow = { place: number; variant: string; people: number; sum: number; sumOfSquares: number }

/**
 * Reads what guards compare, from one snapshot of the database.
 * Rejects with a timeout of the database when it takes longer than `timeoutMs`.
 */
export const readGuardSamples = (
  stores: Stores,
  { projectId, countingId, ruleId, control, isRamp, starts }: GuardedPeople,
  metrics: readonly DecisionMetric[],
  timeoutMs: number,
): Promise<GuardSamples> =>
  measureInSnapshot(stores, timeoutMs, async ({ query, copyValues }) => {
    const about = [countingId, starts.map((start) => new Date(start)), ruleId, isRamp, control]
    const byStratum = <R extends { place: number; variant: string }, V>(
      rows: readonly R[],
      of: (row: R) => V,
    ) =>
      starts.map(
        (_, index) =>
          new Map(rows.filter(({ place }) => place === index + 1).map((row) => [row.variant, of(row)])),
      )
    const counted = await query<{ place: number; variant: string; people: number }>(COUNT_PEOPLE, about)
    const received = new Date((starts[0] ?? 0) - DAY_MS)
    const samples: Map<string, Sample>[][] = []
    for (const { eventName, selectorId, property, kind } of metrics) {
      const value = kind === 'count' ? 'one' : (property ?? 'amount')
      if (eventName !== null)
        await copyValues({ projectId, eventName, property: kind === 'count' ? null : property, received })
      const rows = await query<SumsRow>(
        sumByStratum(eventName === null ? CONVERSIONS_AFTER_PEOPLE : EVENTS, kind),
        eventName === null ? [...about, value, projectId, selectorId, received] : about,
      )
      samples.push(
        byStratum(
          rows,
          ({ people, sum, sumOfSquares }): Sample => ({ people, sum, sumOfSquares, past: null }),
        ),
      )
    }
    return { people: byStratum(counted, ({ people }) => people), metrics: samples }
  })

// Nothing is stored as more than a day ahead of its receipt.
const DAY_MS = 24 * 60 * 60 * 1_000

/** `CONVERSIONS` with its parameters from $3 on moved behind those of the people. */
const CONVERSIONS_AFTER_PEOPLE = CONVERSIONS.replaceAll(/\$(\d)/g, (_, number) => `$${Number(number) + 3}`)

/** The stratum of a variant and its control. */
export const stratumOf = (
  samples: ReadonlyMap<string, Sample>,
  variant: string,
  control: string,
): GuardStratum => ({
  variant: samples.get(variant) ?? NOBODY,
  control: samples.get(control) ?? NOBODY,
})

const NOBODY: Sample = { people: 0, sum: 0, sumOfSquares: 0, past: null }
