import type { Database } from '@waymark/database'
import type { Actor } from '../http/project-route.ts'
import { UUID } from '../http/validation.ts'

type Tables = Pick<Database['prisma'], 'user' | 'apiKey' | 'accessToken'>

/** The names of users (their email address), keys and access tokens by id. Those that no longer exist are missing. */
export const namesOf = async (
  prisma: Tables,
  projectId: string,
  actorIds: readonly string[],
): Promise<Map<string, string>> => {
  const ids = [...new Set(actorIds)].filter((id) => UUID.test(id))
  const [users, keys, tokens] = await Promise.all([
    prisma.user.findMany({ where: { id: { in: ids } }, select: { id: true, email: true } }),
    prisma.apiKey.findMany({ where: { id: { in: ids }, projectId }, select: { id: true, name: true } }),
    prisma.accessToken.findMany({ where: { id: { in: ids } }, select: { id: true, name: true } }),
  ])
  return new Map([
    ...users.map(({ id, email }) => [id, email] as const),
    ...[...keys, ...tokens].map(({ id, name }) => [id, name] as const),
  ])
}

/** Like `namesOf`, for a caller who may list the members and keys of the project. All others get no names. */
export const namesFor = async (
  caller: Pick<Actor, 'scopes'>,
  prisma: Tables,
  projectId: string,
  actorIds: readonly string[],
): Promise<Map<string, string>> =>
  caller.scopes.includes('manage:admin') ? namesOf(prisma, projectId, actorIds) : new Map()
