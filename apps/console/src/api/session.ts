import { queryOptions, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { api, unwrap } from './client.ts'
import type { Account, Project, Role } from './types.ts'

export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: (): Promise<Account> => unwrap(api.GET('/api/auth/me')),
  staleTime: 60_000,
  retry: false,
})

const SIGNED_IN = 'signed-in'

/** Notes whether this browser has a session, whose cookie scripts cannot see. */
export const noteSignedIn = (signedIn: boolean): void => {
  if (signedIn) localStorage.setItem(SIGNED_IN, '1')
  else localStorage.removeItem(SIGNED_IN)
}

/** Whether it is worth asking who is signed in. */
export const mayBeSignedIn = (): boolean => localStorage.getItem(SIGNED_IN) !== null

/** Who is signed in. Without a session nothing is asked, since a refusal leads to the sign-in page. */
export const useAccount = (): Account | undefined =>
  useQuery({ ...accountQuery, enabled: mayBeSignedIn() }).data

/** The id of the project that the page belongs to. */
export const useProjectId = (): string => {
  const { projectId } = useParams({ strict: false })
  if (projectId === undefined) throw new Error('This page belongs to no project')
  return projectId
}

export const useProject = (): Project | undefined => {
  const projectId = useProjectId()
  return useAccount()?.projects.find(({ id }) => id === projectId)
}

const ROLES: readonly Role[] = ['viewer', 'editor', 'admin', 'owner']

/** Whether somebody with `role` may do what `needed` may. */
export const roleAllows = (role: Role | null | undefined, needed: Role): boolean =>
  role != null && ROLES.indexOf(role) >= ROLES.indexOf(needed)

/** Whether the reader may do in this project what `needed` may. */
export const useMay = (needed: Role): boolean => roleAllows(useProject()?.role, needed)
