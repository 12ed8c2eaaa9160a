import { getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'

/** Stops a server in its tracks, so that it neither answers nor refuses, until the function that it answers is called. */
export const pauseServer = async (server: StartedTestContainer): Promise<() => Promise<void>> => {
  const runtime = await getContainerRuntimeClient()
  const container = runtime.container.getById(server.getId())
  await container.pause()
  return async () => {
    await container.unpause()
  }
}
