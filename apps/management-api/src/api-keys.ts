import { type ApiKeyScope, AppError, createApiKey, listApiKeys, revokeApiKey } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { generateApiKey, parseRfc3339, scopeAllows } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

/** Scopes that a key may hold which everybody can read in a web page. */
const PUBLIC_SCOPES: readonly ApiKeyScope[] = ['events:write', 'decide', 'coupons:read', 'coupons:redeem']

type StoredKey = Prisma.ApiKeyGetPayload<object>

/** A project's API keys. The key itself is shown once, in the answer that creates it. */
export const apiKeyRoutes = ({
  projectRoute,
  db,
  clock,
}: Pick<Platform, 'db' | 'clock'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(createApiKey, async ({ projectId, actor, body: wanted }) => {
    const beyond = wanted.scopes.find((scope) => !scopeAllows(actor.scopes, scope))
    if (beyond) {
      throw new AppError('forbidden', 'A key may only create keys with scopes that it holds itself', {
        requiredScope: beyond,
      })
    }
    const secret = wanted.scopes.find((scope) => !PUBLIC_SCOPES.includes(scope))
    if (wanted.kind === 'pub' && secret)
      throw unprocessable('scopes', 'pub_scope', `${secret} is not for keys that browsers see`)
    const { key, keyId, secretHash } = generateApiKey(wanted.kind)
    const [stored] = await db.prisma.$transaction([
      db.prisma.apiKey.create({
        data: {
          id: uuidv7(),
          keyId,
          projectId,
          name: wanted.name,
          kind: wanted.kind,
          scopes: wanted.scopes,
          secretHash: new Uint8Array(secretHash),
          validationMode: wanted.validationMode ?? null,
          allowedOrigins: (wanted.allowedOrigins ?? []).map(requireOrigin),
          expiresAt: parseExpiry(wanted.expiresAt ?? null, clock()),
        },
      }),
      db.prisma.configChange.create({ data: { projectId } }),
    ])
    return { status: 201, body: { ...view(stored), key } }
  }),
  projectRoute(listApiKeys, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      (where, take) =>
        db.prisma.apiKey.findMany({ where: { projectId, ...where }, orderBy: { id: 'desc' }, take }),
      view,
    ),
  })),
  projectRoute(revokeApiKey, async ({ projectId, id }) => {
    await db.prisma.$transaction(async (tx) => {
      const found = requireFound(await tx.apiKey.findFirst({ where: { id: requireId(id), projectId } }))
      // Revoking again changes nothing: the first time stands.
      if (found.revokedAt === null)
        await tx.apiKey.update({ where: { id }, data: { revokedAt: new Date(clock()) } })
      await tx.configChange.create({ data: { projectId } })
    })
    return { status: 204 }
  }),
]

const requireOrigin = (text: string): string => {
  const url = URL.parse(text)
  if (url && (url.protocol === 'https:' || url.protocol === 'http:') && url.origin === text) return text
  throw unprocessable('allowedOrigins', 'origin', 'must be origins such as https://shop.example')
}

const parseExpiry = (text: string | null, now: number): Date | null => {
  if (text === null) return null
  const time = parseRfc3339(text)
  if (time !== undefined && time > now) return new Date(time)
  throw unprocessable('expiresAt', 'format', 'must be an RFC 3339 time in the future')
}

const view = ({ projectId: _projectId, secretHash: _secretHash, ...key }: StoredKey) => key
