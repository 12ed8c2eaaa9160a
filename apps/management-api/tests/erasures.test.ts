import { createHash, randomUUID } from 'node:crypto'
import { createPurger, resolveProfiles, storeRejectedEvents } from '@waymark/pipeline'
import { anIngestRecord, services } from '@waymark/testing'
import { compactVerify, importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const BACKUP_DAYS = 35
const never = new AbortController().signal

describe.skipIf(!services)('erasures', () => {
  let management: Management
  let withoutSecret: Management
  let isAway = false
  beforeAll(async () => {
    management = await startManagement({
      erasures: { secret: 'a secret of this test that is long', backupRetentionDays: BACKUP_DAYS },
      adapt: (platform) => ({
        ...platform,
        eventStore: {
          ...platform.eventStore,
          eraseProfiles: (profiles) =>
            isAway
              ? Promise.reject(new Error('the store is away'))
              : platform.eventStore.eraseProfiles(profiles),
        },
      }),
    })
    withoutSecret = await startManagement()
  })
  afterAll(async () => {
    await management?.stop()
    await withoutSecret?.stop()
  })

  const ownerOf = async ({ register }: Management) => {
    const owner: Browser & { account: { projects: { id: string }[] } } = await register()
    const projectId = owner.account.projects[0]?.id ?? ''
    const call = async (method: string, resource: string) => {
      const response = await owner.request(method, `/api/projects/${projectId}/${resource}`)
      const text = await response.text()
      return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
    }
    return { projectId, call }
  }
  type Owner = Awaited<ReturnType<typeof ownerOf>>

  /** Erases a visitor with a rejected event. Returns the ids of both. */
  const eraseVisitor = async ({ projectId, call }: Owner, { db }: Management = management) => {
    const visitorId = `visitor ${randomUUID()}`
    const [profileId] = await resolveProfiles(db.pool, [{ projectId, visitorId, userId: null }])
    const rejectedAt = new Date(Date.now() - 3_600_000).toISOString()
    const record = anIngestRecord({ projectId, receivedAt: rejectedAt, event: { visitorId } })
    await storeRejectedEvents(db.pool, [{ v: 1, id: randomUUID(), record, errors: [], rejectedAt }])
    const { status, body } = await call('DELETE', `profiles/${profileId}`)
    expect(status).toBe(202)
    return { visitorId, id: `${body.id}` }
  }
  const purgeAll = () => createPurger(management.platform).purgeAll(never)
  const hashOf = (projectId: string, visitorId: string) =>
    createHash('sha256').update(`${projectId}:visitor:${visitorId}`).digest('hex')

  it('are listed with what they have removed, the last first', async () => {
    const owner = await ownerOf(management)
    const first = await eraseVisitor(owner)
    const second = await eraseVisitor(owner)
    await purgeAll()
    const { body } = await owner.call('GET', 'erasures')
    expect(body).toEqual({
      data: [second, first].map(({ id }) => ({
        id,
        erasedAt: expect.any(String),
        removedAt: expect.any(String),
        removed: { profiles: 1, identities: 1, rejectedEvents: 1 },
        archive: { rewrittenFiles: 0, removedAt: null },
        isComplete: true,
      })),
      nextCursor: null,
    })
  })

  it('have a certificate that anyone with the public key can verify, and that names nobody', async () => {
    const owner = await ownerOf(management)
    const { visitorId, id } = await eraseVisitor(owner)
    await purgeAll()
    const { status, body } = await owner.call('GET', `erasures/${id}/certificate`)
    expect(status).toBe(200)
    expect(JSON.stringify(body)).not.toContain(visitorId)
    const { certificate, signed } = body
    const { body: publicKey } = await owner.call('GET', 'erasure-key')
    expect(body.publicKey).toEqual(publicKey)
    const verified = await compactVerify(signed, await importJWK(publicKey, 'EdDSA'))
    expect(verified.protectedHeader).toEqual({
      alg: 'EdDSA',
      kid: publicKey.kid,
      typ: 'waymark-erasure+jws',
    })
    expect(JSON.parse(Buffer.from(verified.payload).toString())).toEqual(certificate)
    const after = (days: number) => new Date(Date.parse(certificate.removedAt) + days * DAY_MS).toISOString()
    expect(certificate).toMatchObject({
      projectId: owner.projectId,
      erasureId: id,
      people: [hashOf(owner.projectId, visitorId)],
      removed: { profiles: 1, identities: 1, rejectedEvents: 1 },
      topics: { retentionDays: 7, goneAt: after(7) },
      backups: { retentionDays: BACKUP_DAYS, goneAt: after(BACKUP_DAYS) },
    })
  })

  it('have none while data or files of the archive are still there', async () => {
    const owner = await ownerOf(management)
    isAway = true
    const { id } = await eraseVisitor(owner)
    const certificate = () => owner.call('GET', `erasures/${id}/certificate`)
    expect(await certificate()).toMatchObject({
      status: 409,
      body: { error: 'Data of the person is still being removed' },
    })
    isAway = false
    await purgeAll()
    const { pool } = management.db
    await pool.query('UPDATE ingest.erasure_records SET in_archive = true WHERE id = $1', [id])
    expect(await certificate()).toMatchObject({
      status: 409,
      body: { error: 'Files of the archive are still being rewritten' },
    })
    expect((await owner.call('GET', 'erasures')).body.data).toMatchObject([{ isComplete: false }])
    await pool.query('UPDATE ingest.erasure_records SET archive_removed_at = now() WHERE id = $1', [id])
    expect(await certificate()).toMatchObject({ status: 200 })
  })

  it('belong to one project', async () => {
    const [mine, other] = [await ownerOf(management), await ownerOf(management)]
    const { id } = await eraseVisitor(mine)
    expect((await other.call('GET', 'erasures')).body.data).toEqual([])
    expect((await other.call('GET', `erasures/${id}/certificate`)).status).toBe(404)
  })

  it('have no certificates without a secret', async () => {
    const owner = await ownerOf(withoutSecret)
    const { id } = await eraseVisitor(owner, withoutSecret)
    for (const resource of [`erasures/${id}/certificate`, 'erasure-key'])
      expect(await owner.call('GET', resource)).toMatchObject({
        status: 409,
        body: { error: 'No key signs certificates: set ERASURE_SECRET' },
      })
    expect((await owner.call('GET', 'erasures')).status).toBe(200)
  })
})
