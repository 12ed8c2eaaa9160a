import type { Operation } from '@waymark/contracts/http/operation'
import type { Call, World } from './world.ts'

/** Creates a request and the resources that it needs. */
export type Way = (world: World) => Promise<Call> | Call

/** Requests for responses that do not follow from the operation's access and parts. */
export type Example = {
  operation: Operation
  /** A request that succeeds each time. */
  good: Way
  /** Whether it also succeeds without the database, from a cache or the event store. */
  goesOn?: true
  /** Other requests by expected status, and by reason if a status has several. */
  others?: Record<number, Way | Record<string, Way>>
}

/** A request by a newly registered user who owns a project. */
export const asOwner = async ({ signIn }: World, call: Call = {}): Promise<Call> => {
  const { headers, projectId } = await signIn()
  return { ...call, key: null, headers, params: { projectId, ...call.params } }
}

/** The member `name` of a response's body, which must be a string. */
export const stringIn = (body: unknown, name: string): string => {
  const value: unknown = Reflect.get(Object(body), name)
  if (typeof value !== 'string') throw new Error(`${name} is missing in ${JSON.stringify(body)}`)
  return value
}

/** A call by a member who is signed in. */
export const byMember = async ({ signIn, projectId }: World, call: Call): Promise<Call> => {
  const { headers } = await signIn({ projectId, role: 'owner' })
  return { ...call, key: null, headers }
}
