import { getFlagDefinitions } from '@waymark/contracts/http/decide'
import { type CorePlatform, keyRoute, type LimitRequests, namesTag, type Route } from '@waymark/service-kit'
import type { ReadFlagDocument } from './flag-documents.ts'
import { requireServerKey } from './flag-sync.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  limitRequests: LimitRequests
  readDocument: ReadFlagDocument
  /** Notes that somebody evaluates a decision, elsewhere. */
  noteEvaluated: (decisionId: string) => void
}

/** The local decisions of the key's environment in the format of flagd, for its `http` source. */
export const flagDefinitionsRoute = ({ readDocument, noteEvaluated, ...deps }: Deps): Route =>
  keyRoute(getFlagDefinitions, deps, async ({ apiKey, request }) => {
    requireServerKey(apiKey)
    const { etag, json, decisionIds } = await readDocument(apiKey.projectId, apiKey.environment)
    for (const id of decisionIds) noteEvaluated(id)
    const headers = { ETag: etag, 'Cache-Control': 'no-cache' }
    return namesTag(request.headers['if-none-match'], etag)
      ? { status: 304, headers }
      : { headers, type: 'application/json; charset=utf-8', body: json }
  })
