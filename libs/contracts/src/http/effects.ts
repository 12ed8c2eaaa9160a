/** What an effect requires of a signed-in user, and whether their personal access tokens may have it. */
export type Requirement = {
  /** What the operation does, as a verb phrase for the documentation. */
  readonly meaning: string
  /**
   * Whether an access token may do it. A user needs a recent sign-in to create a token, so that `allowed` does not let an
   * old session do it.
   */
  readonly accessTokens: 'allowed' | 'refused'
}

/**
 * What a session that was left open or stolen must not do. Each effect needs a user who has signed in, or proved who they
 * are, within 10 minutes. A key may have each effect that its scope allows: creating a key is an effect itself.
 */
export const effectRequirements = {
  role: { meaning: 'gives someone a role', accessTokens: 'refused' },
  ownership: { meaning: 'makes someone an owner, or ends that', accessTokens: 'refused' },
  credential: { meaning: 'creates an API key or access token, or extends one', accessTokens: 'refused' },
  secret: { meaning: 'shows or replaces a secret, or lifts the check of it', accessTokens: 'refused' },
  signIn: { meaning: 'changes how users sign in', accessTokens: 'refused' },
  destination: {
    meaning: 'adds a place to which data or email of the project goes',
    accessTokens: 'allowed',
  },
  deletion: {
    meaning: 'deletes events or their ids, or shortens how long they are kept',
    accessTokens: 'allowed',
  },
  approval: {
    meaning: 'makes a change of a decision without its approvals, or requires fewer of them',
    accessTokens: 'refused',
  },
  erasure: { meaning: 'erases a person or a project', accessTokens: 'refused' },
} as const satisfies Record<string, Requirement>

export type Effect = keyof typeof effectRequirements

/** A request, with the resource as it was before: an empty object where there is none. */
export type Change<Body, Query> = {
  body: Body
  query: Query
  before: Readonly<Record<string, unknown>>
}

/** An effect of the requests for which `when` holds. `described` says which, as a noun phrase. */
export type ConditionalEffect<Body = unknown, Query = unknown> = {
  readonly effect: Effect
  readonly described: string
  // A method, so that an operation with a body is an `Operation`.
  when(change: Change<Body, Query>): boolean
}

/** An effect of every request, or of some. */
export type DeclaredEffect<Body = unknown, Query = unknown> = Effect | ConditionalEffect<Body, Query>

/** The effects of every request. */
export const constantEffects = (declared: readonly DeclaredEffect[] = []): Effect[] =>
  declared.filter((one): one is Effect => typeof one === 'string')

/** The effects that depend on the request. */
export const conditionalEffects = <Body, Query>(
  declared: readonly DeclaredEffect<Body, Query>[] = [],
): ConditionalEffect<Body, Query>[] =>
  declared.filter((one): one is ConditionalEffect<Body, Query> => typeof one !== 'string')
