import type { Operation } from '@waymark/contracts'
import type { Call, World } from './world.ts'

/** Requests that bring about answers of one operation that do not follow from its access and its parts. */
export type Example = {
  operation: Operation
  /** A request that succeeds, however often it is sent. */
  good: (world: World) => Promise<Call> | Call
  /** Whether it is answered all the same when the database is away, by what is remembered. */
  goesOn?: true
  /** Other requests, by the status that they are answered with. */
  others?: Record<number, (world: World) => Promise<Call> | Call>
}

/** The member `name` of an answer's body, which must be a string. */
export const stringIn = (body: unknown, name: string): string => {
  const value: unknown = Reflect.get(Object(body), name)
  if (typeof value !== 'string') throw new Error(`${name} is missing in ${JSON.stringify(body)}`)
  return value
}
