import type { Platform, Service } from '@waymark/service-kit'

/** Decides which variant a person sees. */
export const createDecisionService = (_platform: Platform): Service => ({ routes: [] })
