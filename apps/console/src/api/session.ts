import { queryOptions, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useSyncExternalStore } from 'react'
import { api, unwrap } from './client.ts'
import type { Account, Project, Role } from './types.ts'

export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: (): Promise<Account> => unwrap(api.GET('/api/auth/me')),
  staleTime: 60_000,
})

const SIGNED_IN = 'signed-in'

/** Stores whether this browser has a session, because scripts cannot read its cookie. */
export const noteSignedIn = (signedIn: boolean): void => {
  if (signedIn) localStorage.setItem(SIGNED_IN, '1')
  else localStorage.removeItem(SIGNED_IN)
  setSessionEnded(false)
}

let sessionEnded = false
const watchers = new Set<() => void>()

const setSessionEnded = (ended: boolean): void => {
  sessionEnded = ended
  for (const watcher of watchers) watcher()
}

/** Stores that the session ended while a page of the user is shown. Ends with the next `noteSignedIn`. */
export const noteSessionEnded = (): void => {
  if (sessionEnded) return
  noteSignedIn(false)
  setSessionEnded(true)
}

const watchSession = (watcher: () => void): (() => void) => {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** Whether the session of the user whose page is shown has ended. */
export const useSessionEnded = (): boolean => useSyncExternalStore(watchSession, () => sessionEnded)

/** Calls `callback` when the user signs in in another tab. Returns a function that ends this. */
export const onSignedInElsewhere = (callback: () => void): (() => void) => {
  const listen = ({ key, newValue }: StorageEvent) => {
    if (key === SIGNED_IN && newValue !== null) callback()
  }
  addEventListener('storage', listen)
  return () => removeEventListener('storage', listen)
}

/** Whether a request for the current account may succeed. */
export const mayBeSignedIn = (): boolean => localStorage.getItem(SIGNED_IN) !== null

/** The signed-in user. Without a session there is no request, because a 401 opens the sign-in page. */
export const useAccount = (): Account | undefined =>
  useQuery({ ...accountQuery, enabled: mayBeSignedIn() }).data

/** The id of the page's project. */
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

/** Whether a member with `role` has the permissions of `needed`. */
export const roleAllows = (role: Role | null | undefined, needed: Role): boolean =>
  role != null && ROLES.indexOf(role) >= ROLES.indexOf(needed)

/** Whether the user has the permissions of `needed` in this project. */
export const useMay = (needed: Role): boolean => roleAllows(useProject()?.role, needed)
