import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'

const nameOf = (projectId: string) => `first-key:${projectId}`

/** A key of kind `pub` to try the project with, once `create` was called, until this tab is closed. */
export const useFirstKey = () => {
  const projectId = useProjectId()
  // Kept until this tab is closed, because the API returns a key only once.
  const [key, setKey] = useState(() => sessionStorage.getItem(nameOf(projectId)))
  const create = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/api-keys', {
          params: { path: { projectId } },
          body: { name: 'First steps', kind: 'pub', scopes: ['events:write'] },
        }),
      ),
    {
      onDone: (made) => {
        sessionStorage.setItem(nameOf(projectId), made.key)
        setKey(made.key)
      },
    },
  )
  return { key, create }
}
