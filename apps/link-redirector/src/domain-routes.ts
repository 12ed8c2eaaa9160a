import {
  type HostRoutes,
  type HttpRequest,
  mountRoutes,
  type Reply,
  type Route,
  route,
} from '@waymark/service-kit'
import { Router } from 'express'
import type { ReadAppFile } from './app-files.ts'
import type { AppFiles, LinkDomain } from './link-domain-queries.ts'
import type { LinkDomains } from './link-domains.ts'
import { type Refusal, redirectTo, refusalReply, unknownLink } from './link-page.ts'
import type { Redirects } from './redirect-route.ts'

const NO_FILE: Refusal = { status: 404, error: 'There is no such file' }
const FILE_HEADERS = { 'Cache-Control': 'public, max-age=300' }

type Answer = (request: HttpRequest, domain: LinkDomain) => Reply | Promise<Reply>

/** What a verified domain answers: `/{code}` and `/s/{code}` with its links, and other paths with its own addresses and files. */
export const createDomainRoutes = (
  domains: LinkDomains,
  { follow, unlock }: Redirects,
  readAppFile: ReadAppFile,
): HostRoutes => {
  const on = (path: string, answer: Answer, method: 'get' | 'post' = 'get'): Route =>
    route({ method, path, forPrograms: true }, (request) => {
      const domain = domains.find(request)
      // The domain may be removed between routing and here.
      return domain ? answer(request, domain) : refusalReply(request, unknownLink)
    })
  const toLink: Answer = (request, domain) => follow(request, request.params.code ?? '', domain)
  const withPassword: Answer = (request, domain) => unlock(request, request.params.code ?? '', domain)
  const notFound: Answer = (request, { notFoundUrl }) => refusalReply(request, unknownLink, notFoundUrl)
  // Not redirected without a file, because operating systems refuse redirects there.
  const appFile =
    (name: keyof AppFiles): Answer =>
    async (request, { id }) => {
      const file = await readAppFile(id, name)
      return file === null ? refusalReply(request, NO_FILE) : { headers: FILE_HEADERS, body: file }
    }

  return {
    owns: domains.owns,
    router: mountRoutes(Router(), [
      on('/', (request, domain) =>
        domain.rootUrl === null ? notFound(request, domain) : redirectTo(domain.rootUrl),
      ),
      on('/.well-known/apple-app-site-association', appFile('appleAppSiteAssociation')),
      on('/.well-known/assetlinks.json', appFile('assetLinks')),
      on('/{code}', toLink),
      on('/s/{code}', toLink),
      on('/{code}', withPassword, 'post'),
      on('/s/{code}', withPassword, 'post'),
      on('/*', notFound),
    ]),
  }
}
