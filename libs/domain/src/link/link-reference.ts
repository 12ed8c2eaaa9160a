import type { AcceptedEvent } from '@waymark/contracts/records/ingest-record'
import { clickTagOf, parseClickId } from './click-id.ts'
import { LINK_CODE } from './code.ts'
import { CLICK_PARAMETER } from './destination.ts'

/** A reference to a link: the tag in a click id, the link id, or the code. */
export type LinkReference = { by: 'tag' | 'id' | 'code'; value: string }
/** The references to a link in an event, and its click id if there is one. */
type LinkClaim = { clickId: string | null; references: readonly LinkReference[] }

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/
const IN_QUERY = new RegExp(`[?&;]${CLICK_PARAMETER}=([0-9a-fA-F-]{36})(?:[&#]|$)`)

/** Reads the link references of an event, the most reliable first. `null` when there are none. */
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

// Parsed only when it contains the parameter, because parsing every URL again would be slow.
const clickIdIn = (url: unknown): string | null =>
  typeof url === 'string' ? parseClickId(IN_QUERY.exec(url)?.[1]) : null
