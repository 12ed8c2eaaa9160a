import type { ServerResponse } from 'node:http'

type Encoding = 'latin1' | 'utf8'
type Ending = { res: ServerResponse; text: string; encoding: Encoding }

let ready: Ending[] = []

const endAll = (): void => {
  const endings = ready
  ready = []
  for (const { res, text, encoding } of endings) res.end(text, encoding)
}

/**
 * Ends an answer with all others that become ready in the same turn of the event loop, one right after the other. A
 * client that sleeps has to be woken, which takes longer than to write to it; one write does so for all that follow.
 */
export const endTogether = (res: ServerResponse, text: string, encoding: Encoding): void => {
  if (ready.push({ res, text, encoding }) === 1) setImmediate(endAll)
}
