import { canonicalAddress } from '@waymark/contracts/email-address'
import { knownSettings } from '@waymark/contracts/project-settings'
import type { Prisma } from '@waymark/database'
import { type Staleness, stalenessOf } from '@waymark/domain/decision'
import { drain, type Loop, type Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { toDecision } from './decision-rows.ts'
import { claimStaleReport } from './stale-report-queries.ts'

const INTERVAL_MS = 60_000
/** From one report of a project to the next. */
export const REPORT_EVERY_MS = 7 * 24 * 60 * 60 * 1_000
/** Decisions that an email lists. It says how many there are. */
export const MAX_LISTED = 50
/** Decisions that are read at once. */
const BATCH = 100

type Deps = Pick<Platform, 'db' | 'clock'>
type StaleDecision = Staleness & { key: string; owner: string | null }

/** Queues the weekly emails about stale decisions. Every process does: a claim makes one of them report a project. */
export const reportStaleDecisions = (deps: Deps): Loop =>
  drain('stale-decisions', INTERVAL_MS, () => reportDueProject(deps))

/** Queues the emails of one project that is due. @returns the number of projects */
export const reportDueProject = ({ db, clock }: Deps): Promise<number> =>
  db.prisma.$transaction(async (tx) => {
    const now = clock()
    const project = await claimStaleReport(tx, new Date(now), new Date(now + REPORT_EVERY_MS))
    if (!project) return 0
    if (knownSettings(project.settings).staleMails === false) return 1
    const stale = await readStale(tx, project.id, now)
    if (stale.length === 0) return 1
    for (const [recipient, decisions] of await byRecipient(tx, project.id, stale))
      await tx.staleNotice.create({
        data: {
          id: uuidv7(),
          projectId: project.id,
          recipient,
          decisions: decisions.slice(0, MAX_LISTED).map(({ owner: _owner, ...decision }) => decision),
          total: decisions.length,
        },
      })
    return 1
  })

const readStale = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  now: number,
): Promise<StaleDecision[]> => {
  const found: StaleDecision[] = []
  let last: string | undefined
  for (;;) {
    const rows = await tx.decision.findMany({
      where: {
        projectId,
        status: { in: ['active', 'paused'] },
        project: { archivedAt: null },
        ...(last !== undefined && { key: { gt: last } }),
      },
      orderBy: { key: 'asc' },
      take: BATCH,
    })
    for (const row of rows) {
      const decision = toDecision(row)
      const stale = stalenessOf(decision, row, now)
      if (stale) found.push({ key: row.key, ...stale, owner: decision.definition.owner ?? null })
    }
    last = rows.at(-1)?.key
    if (rows.length < BATCH) return found
  }
}

/** The decisions of each member who is their `owner`; those of nobody go to the owners of the project. */
const byRecipient = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  stale: readonly StaleDecision[],
): Promise<Map<string, StaleDecision[]>> => {
  const members = await tx.projectMember.findMany({
    where: { projectId },
    select: { role: true, user: { select: { email: true } } },
  })
  const addresses = new Map(members.map(({ user }) => [canonicalAddress(user.email), user.email]))
  const owners = members.filter(({ role }) => role === 'owner').map(({ user }) => user.email)
  const recipientsOf = ({ owner }: StaleDecision): readonly string[] => {
    const address = owner === null ? undefined : canonicalAddress(owner)
    const member = address === undefined ? undefined : addresses.get(address)
    return member === undefined ? owners : [member]
  }
  const found = new Map<string, StaleDecision[]>()
  for (const decision of stale)
    for (const recipient of recipientsOf(decision)) {
      const decisions = found.get(recipient)
      if (decisions) decisions.push(decision)
      else found.set(recipient, [decision])
    }
  return found
}
