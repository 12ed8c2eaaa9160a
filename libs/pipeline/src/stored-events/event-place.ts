/** The place of an event in the order of receipt. */
export type EventPlace = { at: Date; key: string }

/** The place before all events that were received at a time. A client can choose any key, also the least one. */
export const placeBefore = (at: Date): EventPlace => ({
  at: new Date(at.getTime() - 1),
  key: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
})
