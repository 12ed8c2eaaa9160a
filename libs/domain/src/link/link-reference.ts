import type { AcceptedEvent } from '@waymark/contracts'
import { clickTagOf, parseClickId } from './click-id.ts'
import { LINK_CODE } from './code.ts'
import { CLICK_PARAMETER } from './destination.ts'

/** What names a link of a project: the tag in a click's id, the link's own id, or its code. */
export type LinkReference = { by: 'tag' | 'id' | 'code'; value: string }
/** What an event says of the link that led to it: the click, if it names one, and everything that names the link. */
export type LinkClaim = { clickId: string | null; references: readonly LinkReference[] }

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/
const IN_QUERY = new RegExp(`[?&]${CLICK_PARAMETER}=([0-9a-fA-F-]{36})(?:[&#]|$)`)

/** Reads which link an event claims to come from, the best evidence first; `null` when it claims nothing. */
export const linkClaimOf = ({
  properties,
  clickIds,
  shortLinkId,
  shortLinkCode,
}: AcceptedEvent): LinkClaim | null => {
  const clickId =
    parseClickId(properties[CLICK_PARAMETER]) ??
    clickIdIn(properties.url) ??
    parseClickId(clickIds?.[CLICK_PARAMETER])
  const id = shortLinkId?.toLowerCase() ?? ''
  const code = shortLinkCode ?? ''
  if (clickId === null && id === '' && code === '') return null
  const references: LinkReference[] = []
  if (clickId !== null) references.push({ by: 'tag', value: clickTagOf(clickId) })
  if (UUID.test(id)) references.push({ by: 'id', value: id })
  if (LINK_CODE.test(code)) references.push({ by: 'code', value: code })
  return references.length === 0 ? null : { clickId, references }
}

// Nearly no address has one: a whole URL is parsed elsewhere, and once is enough.
const clickIdIn = (url: unknown): string | null =>
  typeof url === 'string' ? parseClickId(IN_QUERY.exec(url)?.[1]) : null
