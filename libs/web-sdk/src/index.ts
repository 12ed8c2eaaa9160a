import { createWaymark } from './waymark.ts'

export type { AutoTrack, Call, Consent, Decision, Options, Properties, Waymark } from './types.ts'

import type { Waymark } from './types.ts'

/** Tracks the page that it is used in. It does nothing before `init`, so it can be imported on a server. */
export const waymark: Waymark = createWaymark()
