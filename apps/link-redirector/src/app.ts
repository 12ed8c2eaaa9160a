import type { Platform, Service } from '@waymark/service-kit'

/** Resolves short links and counts their clicks. */
export const createLinkRedirector = (_platform: Platform): Service => ({ routes: [] })
