// The package has no types of its own. These are of what the tests use.
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  type Client = { backchannelLogout(subject: string, sessionId: string): Promise<void> }
  export default class Provider {
    constructor(issuer: string, configuration: object)
    Client: { find(id: string): Promise<Client>; prototype: { redirectUriAllowed(uri: string): boolean } }
    callback(): RequestListener
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
    on(event: string, listener: (...args: unknown[]) => void): void
  }
}
