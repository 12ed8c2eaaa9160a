import type { Log } from '@waymark/contracts/log'

/** Collects what must be closed when a service stops. */
export type Scope = {
  /** Closes everything that was registered. */
  dispose(): Promise<void>
  /** Registers `dispose` to be called at the end, in reverse order of registration. */
  onStop(name: string, dispose: () => Promise<unknown>): void
}

/** Creates a scope. A disposal that fails is logged, and the others still run. */
export const createScope = (log: Log): Scope => {
  const disposals: { name: string; dispose: () => Promise<unknown> }[] = []
  return {
    onStop: (name, dispose) => {
      disposals.push({ name, dispose })
    },
    dispose: async () => {
      for (const { name, dispose } of disposals.splice(0).reverse()) {
        log.debug({ part: name }, 'Stopping')
        try {
          await dispose()
        } catch (error) {
          log.error({ part: name, err: error }, 'Part could not be stopped cleanly')
        }
      }
    },
  }
}
