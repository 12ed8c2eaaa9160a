import type { ResolveTxt } from './domains.ts'
import type { ProviderClients } from './provider-clients.ts'

/** What routes of single sign-on need in addition to the dependencies of all routes. */
export type OidcDeps = {
  clients: ProviderClients
  resolveTxt: ResolveTxt
  /** The public address of this installation, without a slash at the end. */
  publicUrl: string
}
