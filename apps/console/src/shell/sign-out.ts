import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { noteSignedIn } from '../api/session.ts'

/** Ends the session and opens the sign-in page. */
export const useSignOut = (): (() => Promise<void>) => {
  const navigate = useNavigate()
  const client = useQueryClient()
  return async () => {
    await unwrap(api.POST('/api/auth/logout')).catch(() => undefined)
    noteSignedIn(false)
    client.clear()
    await navigate({ to: '/sign-in' })
  }
}
