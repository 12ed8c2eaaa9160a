import { getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'

import { eventually } from './eventually.ts'

/**
 * Stops a server in its tracks, so that it neither answers nor refuses, until the function that it answers is called.
 * Docker gives up after 0.3 s on a container with a process that waits for the disk (moby/moby#48205), so it is asked again.
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
