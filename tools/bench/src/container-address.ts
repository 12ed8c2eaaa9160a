import type { StartedTestContainer } from 'testcontainers'

/** Where a container listens, without the proxy of published ports: that takes half a core, and pgbench needs none. */
export const addressOf = (container: StartedTestContainer, port: number): string =>
  `${container.getIpAddress(container.getNetworkNames()[0] ?? '')}:${port}`
