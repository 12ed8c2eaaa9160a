import { randomUUID } from 'node:crypto'

const REQUEST_ID = /^[\w.:-]{1,100}$/

/** What a request goes by in answers and logs: the id that it brought, if that is a usable one, or else a new one. */
export const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
