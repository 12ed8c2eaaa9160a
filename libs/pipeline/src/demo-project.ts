import { randomBytes } from 'node:crypto'
import { apiKeyScopes } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { generateApiKey, hashPassword } from '@waymark/domain'
import { v7 as uuidv7 } from 'uuid'

/** How to get into the demo project. The key and the password are known to nobody else and stored only as hashes. */
export type DemoProject = { apiKey: string; projectId: string; email: string; password: string }

const EMAIL = 'demo@waymark.localhost'
const KEY_NAME = 'Demo key'

/**
 * Makes the demo tenant, project, user and a server key with all scopes. If they exist, the user gets a new
 * password, which signs them out everywhere, and the project a new key in place of the old one, since neither can be
 * read back.
 */
export const ensureDemoProject = async ({ prisma }: Pick<Database, 'prisma'>): Promise<DemoProject> => {
  const password = randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const { key, keyId, secretHash } = generateApiKey('sec')

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
      where: { projectId: project, name: KEY_NAME, revokedAt: null },
      data: { revokedAt: new Date() },
    })
    await tx.apiKey.create({
      data: {
        id: uuidv7(),
        keyId,
        projectId: project,
        name: KEY_NAME,
        kind: 'sec',
        scopes: [...apiKeyScopes],
        secretHash: new Uint8Array(secretHash),
      },
    })
    return project
  })
  return { apiKey: key, projectId, email: EMAIL, password }
}

/** Whether the demo project has been made. */
export const hasDemoProject = async ({ prisma }: Pick<Database, 'prisma'>): Promise<boolean> =>
  (await prisma.user.count({ where: { email: EMAIL } })) > 0
