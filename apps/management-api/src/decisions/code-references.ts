import { AppError } from '@waymark/contracts/app-error'
import { listCodeReferences, replaceCodeReferences } from '@waymark/contracts/http/code-references'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound } from '../http/validation.ts'
import { lockName } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'

const view = listCodeReferences.answers[200].schema.properties.data.items

/** Places in code that refer to decisions. */
export const codeReferenceRoutes = ({ projectRoute, db, clock }: ManagementDeps): Route[] => [
  projectRoute(replaceCodeReferences, async ({ projectId, body: { repository, commit, references } }) => {
    const decisions = await db.prisma.decision.findMany({
      where: { projectId, status: { not: 'archived' } },
      select: { id: true, key: true },
    })
    const idOf = new Map(decisions.map(({ id, key }) => [key, id]))
    const reportedAt = new Date(clock())
    const data = references.flatMap(({ decision, file, line }) => {
      const decisionId = idOf.get(decision)
      const where = { projectId, repository, commit: commit ?? null, file, line, reportedAt }
      return decisionId === undefined ? [] : [{ id: uuidv7(), decisionId, ...where }]
    })
    await db.prisma.$transaction(async (tx) => {
      await lockName(tx, `code-references:${projectId}`)
      await tx.codeReference.deleteMany({ where: { projectId, repository } })
      await tx.codeReference.createMany({ data })
    })
    const unknown = references.map(({ decision }) => decision).filter((key) => !idOf.has(key))
    return { body: { repository, references: data.length, unknown: [...new Set(unknown)] } }
  }),
  projectRoute(listCodeReferences, async ({ projectId, key, query }) => {
    const where = { projectId_key: { projectId, key } }
    const { id: decisionId } = requireFound(
      await db.prisma.decision.findUnique({ where, select: { id: true } }),
    )
    return {
      body: await pageOf(
        query,
        (page) => db.prisma.codeReference.findMany(page({ decisionId })),
        (stored) => pick(stored, view),
      ),
    }
  }),
]

/** Refuses to archive a decision that code refers to. @throws AppError conflict that names a place */
export const requireNoReferences = async (
  tx: Pick<Prisma.TransactionClient, 'codeReference'>,
  decisionId: string,
): Promise<void> => {
  const found = await tx.codeReference.findFirst({ where: { decisionId }, orderBy: { id: 'asc' } })
  if (!found) return
  const count = await tx.codeReference.count({ where: { decisionId } })
  throw new AppError(
    'conflict',
    `Code refers to the decision in ${count} places, such as ${found.repository} ${found.file}:${found.line}. ` +
      'Remove them and report it (waymark flags refs), or archive it anyway: POST archive?force=true',
  )
}
