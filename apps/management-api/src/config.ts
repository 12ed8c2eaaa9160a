import { variable } from '@waymark/service-kit'
import { Type } from 'typebox'

/** Where short links are. */
export const shortLinkConfig = {
  baseUrl: variable(
    'SHORT_LINK_BASE_URL',
    Type.String({
      format: 'uri',
      pattern: '^https?://',
      default: 'http://localhost:8085',
      description: 'What short URLs begin with: the public address of link-redirector.',
    }),
  ),
} as const
