import { getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'

import { eventually } from './eventually.ts'

/**
 * Freezes a server, so that it neither answers nor refuses connections. Returns the function that resumes it.
 * Docker gives up after 0.3 s on a container with a process in disk wait (moby/moby#48205), so the command is repeated.
 */
export const pauseServer = async (server: StartedTestContainer): Promise<() => Promise<void>> => {
  const runtime = await getContainerRuntimeClient()
  const container = runtime.container.getById(server.getId())
  await eventually('container paused', async () => {
    await container.pause()
    return true
  })
  return async () => {
    await container.unpause()
  }
}
