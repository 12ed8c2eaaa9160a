import { randomBytes } from 'node:crypto'
import { type ApiKeyKind, type ApiKeyScope, apiKeyScopes } from '@waymark/contracts/api-key'
import type { Database } from '@waymark/database'
import { hashPassword } from '@waymark/domain/account'
import { generateApiKey } from '@waymark/domain/key'
import { v7 as uuidv7 } from 'uuid'

/** The credentials of the demo project, which are stored only as hashes. `publicKey` is for browsers. */
type DemoProject = {
  apiKey: string
  publicKey: string
  projectId: string
  email: string
  password: string
}

const EMAIL = 'demo@waymark.localhost'
/** Limit of the demo key, because all requests of a server come from one address. */
const REQUESTS_PER_MINUTE = 60_000

type DemoKey = {
  kind: ApiKeyKind
  name: string
  scopes: readonly ApiKeyScope[]
  requestsPerMinute: number | null
}
const KEYS: readonly DemoKey[] = [
  { kind: 'sec', name: 'Demo key', scopes: apiKeyScopes, requestsPerMinute: REQUESTS_PER_MINUTE },
  {
    kind: 'pub',
    name: 'Demo browser key',
    scopes: ['events:write', 'decide', 'coupons:read'],
    requestsPerMinute: null,
  },
]

/** No client waits for an answer, so that a busy machine may take its time, in ms. */
const AT_START = { maxWait: 30_000, timeout: 30_000 }

/**
 * Creates the demo tenant, project and user, a server key with all scopes and a browser key. If they exist, the user gets
 * a new password and is signed out everywhere, and the keys are revoked and replaced.
 */
export const ensureDemoProject = async ({ prisma }: Pick<Database, 'prisma'>): Promise<DemoProject> => {
  const password = randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const keys = KEYS.map((key) => ({ ...key, generated: generateApiKey(key.kind) }))

  const projectId = await prisma.$transaction(async (tx) => {
    const user = await tx.user.upsert({
      where: { email: EMAIL },
      update: { passwordHash },
      create: { id: uuidv7(), email: EMAIL, name: 'Demo user', passwordHash },
    })
    await tx.session.deleteMany({ where: { userId: user.id } })
    const member = await tx.projectMember.findFirst({
      where: { userId: user.id, role: 'owner', project: { archivedAt: null } },
      orderBy: { createdAt: 'asc' },
    })
    const project =
      member?.projectId ??
      (
        await tx.project.create({
          data: {
            id: uuidv7(),
            name: 'Demo project',
            tenant: { create: { id: uuidv7(), name: 'Demo' } },
            members: { create: { userId: user.id, role: 'owner' } },
          },
        })
      ).id
    await tx.apiKey.updateMany({
      where: { projectId: project, name: { in: KEYS.map(({ name }) => name) }, revokedAt: null },
      data: { revokedAt: new Date() },
    })
    await tx.apiKey.createMany({
      data: keys.map(({ scopes, generated, ...key }) => ({
        ...key,
        id: uuidv7(),
        keyId: generated.keyId,
        projectId: project,
        ownerId: user.id,
        scopes: [...scopes],
        secretHash: new Uint8Array(generated.secretHash),
      })),
    })
    return project
  }, AT_START)
  const [apiKey = '', publicKey = ''] = keys.map(({ generated }) => generated.key)
  return { apiKey, publicKey, projectId, email: EMAIL, password }
}

/** Whether the demo project exists. */
export const hasDemoProject = async ({ prisma }: Pick<Database, 'prisma'>): Promise<boolean> =>
  (await prisma.user.count({ where: { email: EMAIL } })) > 0
