import type { StartedTestContainer } from 'testcontainers'

/** The address of a container without Docker's port proxy, which takes half a core. */
export const addressOf = (container: StartedTestContainer, port: number): string =>
  `${container.getIpAddress(container.getNetworkNames()[0] ?? '')}:${port}`
