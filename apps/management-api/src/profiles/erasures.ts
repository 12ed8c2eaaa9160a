import { AppError } from '@waymark/contracts/app-error'
import {
  type ErasureCertificate,
  type ErasureRecordView,
  getErasureCertificate,
  getErasureKey,
  listErasures,
} from '@waymark/contracts/http/erasures'
import { topics } from '@waymark/contracts/topics'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { type CertificateSigner, createCertificateSigner } from './erasure-certificate.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const TOPIC_RETENTION_MS = Math.max(...topics.map(({ retentionMs }) => retentionMs))

export type ErasureOptions = {
  /** From which the key is derived that signs certificates; empty for none. */
  secret: string
  /** How long backups are kept; 0 when that is not known. */
  backupRetentionDays: number
}

type Deps = ManagementDeps & { publicUrl: string; erasures: ErasureOptions }
type ErasureRecord = Prisma.ErasureRecordGetPayload<object>

/** What erasures have removed, with signed certificates. */
export const erasureRoutes = ({ projectRoute, db, clock, publicUrl, erasures }: Deps): Route[] => {
  const signer = erasures.secret === '' ? undefined : createCertificateSigner(erasures.secret)
  const requireSigner = async (): Promise<CertificateSigner> => {
    if (!signer) throw new AppError('conflict', 'No key signs certificates: set ERASURE_SECRET')
    return signer
  }
  return [
    projectRoute(listErasures, async ({ projectId, query }) => ({
      body: await pageOf(query, (page) => db.prisma.erasureRecord.findMany(page({ projectId })), view),
    })),

    projectRoute(getErasureCertificate, async ({ projectId, id }) => {
      const where = { id: requireId(id), projectId }
      const record = requireFound(await db.prisma.erasureRecord.findFirst({ where }))
      const { publicKey, sign } = await requireSigner()
      const certificate = certify(record, {
        issuer: publicUrl,
        issuedAt: new Date(clock()),
        backupRetentionDays: erasures.backupRetentionDays,
      })
      return { body: { certificate, signed: await sign(certificate), publicKey } }
    }),

    projectRoute(getErasureKey, async () => ({ body: (await requireSigner()).publicKey })),
  ]
}

type Issue = { issuer: string; issuedAt: Date; backupRetentionDays: number }

/** @throws AppError conflict while data is being removed */
const certify = (
  record: ErasureRecord,
  { issuer, issuedAt, backupRetentionDays }: Issue,
): ErasureCertificate => {
  const { id, projectId, people, erasedAt, removedAt } = record
  const { removed, archive } = view(record)
  const archiveRemovedAt = record.inArchive ? record.archiveRemovedAt : removedAt
  if (!removedAt || !archiveRemovedAt)
    throw new AppError(
      'conflict',
      removedAt
        ? 'Files of the archive are still being rewritten'
        : 'Data of the person is still being removed',
      { reason: 'incomplete' },
    )
  const goneAt = (days: number): string => new Date(removedAt.getTime() + days * DAY_MS).toISOString()
  const topicDays = TOPIC_RETENTION_MS / DAY_MS
  return {
    issuer,
    issuedAt: issuedAt.toISOString(),
    projectId,
    erasureId: id,
    people: people.map((hash) => Buffer.from(hash).toString('hex')),
    erasedAt: erasedAt.toISOString(),
    removedAt: removedAt.toISOString(),
    removed,
    archive: { rewrittenFiles: archive.rewrittenFiles, removedAt: archiveRemovedAt.toISOString() },
    topics: { retentionDays: topicDays, goneAt: goneAt(topicDays) },
    backups:
      backupRetentionDays === 0
        ? null
        : { retentionDays: backupRetentionDays, goneAt: goneAt(backupRetentionDays) },
  }
}

const view = ({
  id,
  erasedAt,
  inArchive,
  removed,
  removedAt,
  archiveFiles,
  archiveRemovedAt,
}: ErasureRecord): ErasureRecordView => ({
  id,
  erasedAt: erasedAt.toISOString(),
  removedAt: removedAt?.toISOString() ?? null,
  removed: removed as Record<string, number>,
  archive: { rewrittenFiles: archiveFiles, removedAt: archiveRemovedAt?.toISOString() ?? null },
  isComplete: removedAt !== null && (!inArchive || archiveRemovedAt !== null),
})
