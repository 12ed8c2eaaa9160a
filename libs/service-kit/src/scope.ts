import type { Log } from '@waymark/contracts'

/** What must be undone when a service stops. */
export type Scope = {
  /** Ends the scope early: what was registered is undone now. */
  dispose(): Promise<void>
  /** Has `dispose` called at the end, the last one registered first. */
  onStop(name: string, dispose: () => Promise<unknown>): void
}

/** A new scope. A failing disposal is logged and does not keep the others from running. */
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
          log.error({ part: name, err: error }, 'Part Part could not be stopped cleanly')
        }
      }
    },
  }
}
