/** Properties of an event, or traits of a person. */
export type Properties = Record<string, unknown>

/** Whether events may be sent and anything may be stored. */
export type Consent = 'granted' | 'denied' | 'pending'

/** What is tracked without code, besides page views. */
export type AutoTrack = 'outbound' | 'downloads' | 'forms' | 'events' | 'leave'

export type Options = {
  /** An API key of kind `pub`. */
  key: string
  /** The address of Waymark, or of a proxy before it. Default: the origin of the script, or of the page. */
  host?: string | undefined
  /** Stores nothing in the browser. The server counts visitors by a hash of the day. Default: false. */
  cookieless?: boolean | undefined
  /** The consent until `setConsent` is called; a stored decision of the visitor comes first. Default: `granted`. */
  consent?: Consent | undefined
  /** Tracks nobody whose browser sends Do Not Track or Global Privacy Control. Default: false. */
  dnt?: boolean | undefined
  /** Tracks page views, also those of the History API. Default: true. */
  pageViews?: boolean | undefined
  /** Default: none. */
  track?: readonly AutoTrack[] | undefined
}

/** A decision. Reading `value` or `variant` for the first time reports that the person has seen the variant. */
export type Decision = {
  /** `undefined` when the decision is not known. */
  readonly value: unknown
  readonly variant: string | undefined
}

/** A call as a list, such as `['track', 'order_placed', { total: 4990 }]`. */
export type Call = readonly [string, ...unknown[]]

/** Calls before `init` wait for it. */
export type Waymark = {
  /** Starts it. Only the first call counts. */
  init(options: Options): void
  /** Sends an event. */
  track(name: string, properties?: Properties): void
  /** Sends the page view of the current page. */
  page(properties?: Properties): void
  /** Links this browser to a user, whose traits are written. `userHash` proves the user; see docs/identity.md. */
  identify(userId: string, traits?: Properties, options?: { userHash?: string }): void
  /** Forgets user, visitor and session, such as at a sign-out. */
  reset(): void
  /** The decisions with these keys. They are kept for five minutes. */
  decide<Key extends string>(keys: readonly Key[]): Promise<Record<Key, Decision>>
  /** Stores the decision of the visitor. `denied` deletes everything else that was stored. */
  setConsent(consent: Consent): void
  /** Makes a call that is a list; `window.waymark = window.waymark || []` has the same method before the script loads. */
  push(call: Call): void
}

/** A window. */
export type Page = Window
