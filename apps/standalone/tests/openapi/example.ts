import type { Operation } from '@waymark/contracts'
import type { Call, World } from './world.ts'

/** Makes a request, and before it whatever has to be there. */
export type Way = (world: World) => Promise<Call> | Call

/** Requests that bring about answers of one operation that do not follow from its access and its parts. */
export type Example = {
  operation: Operation
  /** A request that succeeds, however often it is sent. */
  good: Way
  /** Whether it is answered all the same when the database is away, by what is remembered. */
  goesOn?: true
  /** Other requests, by the status that they are answered with; where it has several reasons, also by these. */
  others?: Record<number, Way | Record<string, Way>>
}

/** A request by somebody new who is signed in and owns a project. */
export const asOwner = async ({ signIn }: World, call: Call = {}): Promise<Call> => {
  const { headers, projectId } = await signIn()
  return { ...call, key: null, headers, params: { projectId, ...call.params } }
}

/** The member `name` of an answer's body, which must be a string. */
export const stringIn = (body: unknown, name: string): string => {
  const value: unknown = Reflect.get(Object(body), name)
  if (typeof value !== 'string') throw new Error(`${name} is missing in ${JSON.stringify(body)}`)
  return value
}
