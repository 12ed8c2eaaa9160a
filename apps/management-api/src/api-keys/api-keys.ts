import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { AppError } from '@waymark/contracts/app-error'
import { PRODUCTION } from '@waymark/contracts/environment'
import {
  ApiKeyView,
  createApiKey,
  DEFAULT_OVERLAP_SECONDS,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from '@waymark/contracts/http/api-keys'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import { generateApiKey, isOriginPattern, scopeAllows } from '@waymark/domain/key'
import type { Route } from '@waymark/service-kit'
import { parse as parseDomain } from 'tldts'
import { v7 as uuidv7 } from 'uuid'
import { holdEnvironment } from '../environments/environments.ts'
import { pageOf } from '../http/page.ts'
import type { Actor } from '../http/project-route.ts'
import { requireFound, requireFutureTime, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { requireWithinQuota } from '../quotas.ts'
import { ownerFor } from './key-owners.ts'

/** Scopes that a `pub` key may have, which anyone can read in a web page. */
const PUBLIC_SCOPES: readonly ApiKeyScope[] = ['events:write', 'decide', 'coupons:read', 'coupons:redeem']

type StoredKey = Prisma.ApiKeyGetPayload<object>

/** A project's API keys. The key itself is shown once, in the answer that creates it. */
export const apiKeyRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => [
  projectRoute(createApiKey, async ({ projectId, actor, body: wanted }) => {
    requireOwnScopes(actor, wanted.scopes)
    requireScopesFor(wanted.kind, wanted.scopes)
    requireLimitFor(wanted.kind, wanted.requestsPerMinute)
    const { key, keyId, secretHash } = generateApiKey(wanted.kind)
    const stored = await db.prisma.$transaction(async (tx) => {
      const ownerId = await ownerFor(tx, projectId, actor)
      requireWithinQuota(quotas, 'apiKeys', (await countUsable(tx, projectId, clock())) + 1)
      const { environment = PRODUCTION } = wanted
      await holdEnvironment(tx, projectId, environment)
      await tx.configChange.create({ data: { projectId } })
      return tx.apiKey.create({
        data: {
          id: uuidv7(),
          environment,
          keyId,
          projectId,
          ownerId,
          name: wanted.name,
          kind: wanted.kind,
          scopes: wanted.scopes,
          secretHash: new Uint8Array(secretHash),
          validationMode: wanted.validationMode ?? null,
          allowedOrigins: (wanted.allowedOrigins ?? []).map(requireOrigin),
          requestsPerMinute: wanted.requestsPerMinute ?? null,
          expiresAt: parseExpiry(wanted.expiresAt ?? null, clock()),
        },
      })
    })
    return { status: 201, body: { ...view(stored), key }, version: versionOf(stored) }
  }),
  projectRoute(listApiKeys, async ({ projectId, query }) => ({
    body: await pageOf(query, (page) => db.prisma.apiKey.findMany(page({ projectId })), view),
  })),
  projectRoute(getApiKey, async ({ projectId, id }) => {
    const found = await db.prisma.apiKey.findFirst({ where: { id: requireId(id), projectId } })
    return reply(requireFound(found))
  }),
  projectRoute(updateApiKey, async ({ projectId, actor, id, body, requireMatch, checkEffects }) => {
    const { name, scopes, validationMode, allowedOrigins, requestsPerMinute, expiresAt } = body
    if (scopes) requireOwnScopes(actor, scopes)
    const change = {
      ...(name !== undefined && { name }),
      ...(scopes && { scopes }),
      ...(validationMode !== undefined && { validationMode }),
      ...(allowedOrigins && { allowedOrigins: allowedOrigins.map(requireOrigin) }),
      ...(requestsPerMinute !== undefined && { requestsPerMinute }),
      ...(expiresAt !== undefined && { expiresAt: parseExpiry(expiresAt, clock()) }),
    }
    return db.prisma.$transaction(async (tx) => {
      const found = await lockKey(tx, projectId, id)
      requireMatch(versionOf(found))
      requireNotRevoked(found)
      checkEffects(view(found))
      if (scopes) requireScopesFor(found.kind, scopes)
      requireLimitFor(found.kind, requestsPerMinute)
      // An expired key does not keep its environment from being deleted.
      if (expiresAt !== undefined) await holdEnvironment(tx, projectId, found.environment)
      await tx.configChange.create({ data: { projectId } })
      return reply(await tx.apiKey.update({ where: { id }, data: change }))
    })
  }),
  projectRoute(rotateApiKey, async ({ projectId, actor, id, body }) => {
    const { overlapSeconds = DEFAULT_OVERLAP_SECONDS } = body
    return db.prisma.$transaction(async (tx) => {
      const ownerId = await ownerFor(tx, projectId, actor)
      const found = await lockKey(tx, projectId, id)
      const now = clock()
      // The old key works during the overlap, so both count.
      requireWithinQuota(quotas, 'apiKeys', (await countUsable(tx, projectId, now)) + 1)
      requireNotRevoked(found)
      if (found.replacedBy !== null) throw unprocessable('id', 'rotated', 'has been rotated already')
      if (found.expiresAt !== null && found.expiresAt.getTime() <= now)
        throw unprocessable('id', 'expired', 'has expired')
      requireOwnScopes(actor, found.scopes as ApiKeyScope[])
      const { key, keyId, secretHash } = generateApiKey(found.kind as 'pub' | 'sec')
      const {
        name,
        kind,
        scopes,
        validationMode,
        allowedOrigins,
        requestsPerMinute,
        environment,
        expiresAt,
      } = found
      const created = await tx.apiKey.create({
        data: {
          projectId,
          name,
          kind,
          scopes,
          validationMode,
          allowedOrigins,
          requestsPerMinute,
          environment,
          expiresAt,
          id: uuidv7(),
          keyId,
          ownerId,
          secretHash: new Uint8Array(secretHash),
        },
      })
      const overlapEnd = now + overlapSeconds * 1_000
      const oldExpiresAt = new Date(Math.min(overlapEnd, expiresAt?.getTime() ?? overlapEnd))
      await tx.apiKey.update({ where: { id }, data: { expiresAt: oldExpiresAt, replacedBy: created.id } })
      await tx.configChange.create({ data: { projectId } })
      return { status: 201, body: { ...view(created), key }, version: versionOf(created) }
    })
  }),
  projectRoute(revokeApiKey, async ({ projectId, id, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      const found = await lockKey(tx, projectId, id)
      requireMatch(versionOf(found))
      // A second revocation keeps the time of the first.
      if (found.revokedAt === null)
        await tx.apiKey.update({ where: { id }, data: { revokedAt: new Date(clock()) } })
      await tx.configChange.create({ data: { projectId } })
    })
    return { status: 204 }
  }),
]

const countUsable = (tx: Prisma.TransactionClient, projectId: string, now: number): Promise<number> =>
  tx.apiKey.count({
    where: { projectId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date(now) } }] },
  })

/** Reads a key and locks it until the transaction ends. */
const lockKey = async (tx: Prisma.TransactionClient, projectId: string, id: string): Promise<StoredKey> => {
  await lockRow(tx, 'core.api_keys', id)
  return requireFound(await tx.apiKey.findFirst({ where: { id, projectId } }))
}

const requireOwnScopes = (actor: Actor, scopes: readonly ApiKeyScope[]): void => {
  const beyond = scopes.find((scope) => !scopeAllows(actor.scopes, scope))
  if (beyond === undefined) return
  throw new AppError('forbidden', 'A key can only grant scopes that it holds', {
    requiredScope: beyond,
  })
}

const requireScopesFor = (kind: string, scopes: readonly ApiKeyScope[]): void => {
  const secret = scopes.find((scope) => !PUBLIC_SCOPES.includes(scope))
  if (kind === 'pub' && secret)
    throw unprocessable(
      'scopes',
      'pub_scope',
      `of a pub key must be among ${PUBLIC_SCOPES.join(', ')}`,
      secret,
    )
}

const requireLimitFor = (kind: string, requestsPerMinute: number | null | undefined): void => {
  if (kind === 'pub' && typeof requestsPerMinute === 'number')
    throw unprocessable(
      'requestsPerMinute',
      'sec_only',
      'is only for sec keys; a pub key has the limits per project and client address: send null or leave it out',
    )
}

const requireNotRevoked = ({ revokedAt }: StoredKey): void => {
  if (revokedAt !== null) throw unprocessable('id', 'revoked', 'has been revoked')
}

const ORIGINS =
  'must be origins of pages such as https://shop.example, with * at most as the first label as in https://*.shop.example, ' +
  'or of apps and extensions such as capacitor://localhost; without a path, in lower case'

const PUBLIC_SUFFIX =
  'must have * below a domain of your own, as in https://*.shop.example; anybody can register names below a public suffix ' +
  'such as co.uk or github.io'

const requireOrigin = (text: string): string => {
  if (!isOriginPattern(text)) throw unprocessable('allowedOrigins', 'origin', ORIGINS, text)
  if (coversPublicSuffix(text)) throw unprocessable('allowedOrigins', 'publicSuffix', PUBLIC_SUFFIX, text)
  return text
}

/** Whether `*` of a pattern stands for names that anybody can register, by the Public Suffix List. */
const coversPublicSuffix = (pattern: string): boolean => {
  if (!pattern.includes('://*.')) return false
  const { domain, subdomain } = parseDomain(pattern.replace('*', 'label'), { allowPrivateDomains: true })
  return domain === null || subdomain === ''
}

const parseExpiry = (text: string | null, now: number): Date | null =>
  text === null ? null : requireFutureTime('expiresAt', text, now)

const view = (key: StoredKey) => pick(key, ApiKeyView)

/** What the `ETag` is made of: a use of the key is not a change. */
const versionOf = (key: StoredKey) => ({ ...view(key), lastUsedAt: null })

const reply = (key: StoredKey) => ({ body: view(key), version: versionOf(key) })
