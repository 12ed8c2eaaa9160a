import { inject } from 'vitest'

/** The addresses of the servers of this test run. */
export type Services = {
  postgresUrl: string
  redisUrl: string
  kafkaBrokers: string[]
  clickhouseUrl: string
}

declare module 'vitest' {
  interface ProvidedContext {
    services: Services | null
  }
}

/** The servers of the global setup, or `null` without Docker. */
export const services: Services | null = inject('services')

/** The servers of this run; only for tests inside `describe.skipIf(!services)`. */
export const requireServices = (): Services => {
  if (!services) throw new Error('this test needs Docker and is to be skipped without it')
  return services
}
