import { type Static, Type } from 'typebox'
import { Id, NullableString, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { Unprocessable } from './error-bodies.ts'
import { Destination, orNull } from './link-parts.ts'
import { defineOperation } from './operation.ts'
import { pageOf, pageParameters } from './page.ts'

/** Maximum domains of a project, verified or not. */
export const MAX_LINK_DOMAINS = 200

const fallback = (description: string) =>
  Type.Optional(orNull(Type.String({ ...Destination, description: `${description} Default: a page.` })))
const fallbacks = {
  rootUrl: fallback('Where `/` redirects to.'),
  notFoundUrl: fallback('Where unknown codes and paths redirect to.'),
  expiredUrl: fallback(
    'Where links redirect to that are paused, archived, expired or over their click limit.',
  ),
}

/** Maximum bytes of an app-association file as JSON. */
export const MAX_APP_FILE_BYTES = 64 * 1024

const AppleAppSiteAssociation = Type.Record(Type.String(), Type.Unknown(), {
  description: 'What `/.well-known/apple-app-site-association` answers, for apps on iOS. At most 64 KiB.',
})
const AssetLinks = Type.Array(Type.Record(Type.String(), Type.Unknown()), {
  description: 'What `/.well-known/assetlinks.json` answers, for apps on Android. At most 64 KiB.',
})
const settable = {
  ...fallbacks,
  appleAppSiteAssociation: Type.Optional(orNull(AppleAppSiteAssociation)),
  assetLinks: Type.Optional(orNull(AssetLinks)),
}

const NewLinkDomain = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 1_000,
      description:
        'Such as `go.shop.example`. Letters become lower case, international names become Punycode, and a dot at ' +
        'the end is removed. Ports, addresses and single labels are refused.',
    }),
    ...settable,
  },
  { additionalProperties: false },
)

const LinkDomainPatch = Type.Object(settable, {
  additionalProperties: false,
  description: 'Absent fields do not change. `null` removes a value.',
})
export type LinkDomainPatch = Static<typeof LinkDomainPatch>

const LinkDomainView = Type.Object({
  id: Id,
  host: Type.String(),
  rootUrl: NullableString,
  notFoundUrl: NullableString,
  expiredUrl: NullableString,
  appleAppSiteAssociation: orNull(AppleAppSiteAssociation),
  assetLinks: orNull(AssetLinks),
  verification: Type.Object(
    { type: Type.Literal('TXT'), name: Type.String(), value: Type.String() },
    { description: 'The DNS record that proves control of the domain.' },
  ),
  verifiedAt: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'When the record was last found. Null: links of the domain do not resolve.',
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type LinkDomainView = Static<typeof LinkDomainView>

const tag = 'Link domains'
const collection = '/api/projects/{projectId}/link-domains'
const one = `${collection}/{id}`
const domain = { description: 'The domain', schema: LinkDomainView }

export const createLinkDomain = defineOperation({
  id: 'createLinkDomain',
  method: 'post',
  path: collection,
  tag,
  summary: 'Add a domain for short links',
  description:
    'Create the DNS record in `verification`, and then verify the domain. A host that another project has verified ' +
    'is refused while its record exists.',
  access: { by: 'project', role: 'admin' },
  effects: [],
  limited: true,
  takesLong: true,
  body: NewLinkDomain,
  answers: { 201: domain },
})

export const listLinkDomains = defineOperation({
  id: 'listLinkDomains',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the domains for short links',
  access: { by: 'project', role: 'viewer' },
  query: Type.Object(pageParameters),
  answers: { 200: { description: 'A page of domains, the newest first', schema: pageOf(LinkDomainView) } },
})

export const getLinkDomain = defineOperation({
  id: 'getLinkDomain',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a domain for short links',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: domain },
})

export const updateLinkDomain = defineOperation({
  id: 'updateLinkDomain',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change what a domain answers without a link',
  description: 'Changes apply in every process within 5 seconds. The host does not change.',
  access: { by: 'project', role: 'admin' },
  effects: [],
  body: LinkDomainPatch,
  answers: { 200: domain },
})

export const verifyLinkDomain = defineOperation({
  id: 'verifyLinkDomain',
  method: 'post',
  path: `${one}/verify`,
  tag,
  summary: 'Verify a domain by its DNS record, or check it again',
  description:
    'Answers 422 without the record. The domain is then no longer verified, unless the name servers did not answer.',
  access: { by: 'project', role: 'admin' },
  effects: [],
  limited: true,
  takesLong: true,
  answers: {
    200: domain,
    422: { description: 'The record was not found, or another project has the host', schema: Unprocessable },
  },
})

export const deleteLinkDomain = defineOperation({
  id: 'deleteLinkDomain',
  method: 'delete',
  path: one,
  tag,
  summary: 'Remove a domain',
  description:
    'Its links stay and no longer resolve. They resolve again when the host is added and verified again.',
  access: { by: 'project', role: 'admin' },
  effects: [],
  answers: { 204: { description: 'Removed' } },
})

export const linkDomainOperations = [
  createLinkDomain,
  listLinkDomains,
  getLinkDomain,
  updateLinkDomain,
  verifyLinkDomain,
  deleteLinkDomain,
]
