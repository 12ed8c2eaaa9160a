import type { Platform, Service } from '@waymark/service-kit'

/** Sends the email that events trigger. */
export const createEmailConsumer = (_platform: Platform): Service => ({ routes: [] })
