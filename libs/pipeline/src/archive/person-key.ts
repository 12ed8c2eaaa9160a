/**
 * Four bytes of a profile's id, as a signed number for the database. Its last bytes are random, so that two of a file are
 * hardly ever the same; a file with the same key only is read in vain.
 */
export const personKey = (profileId: string): number => Number.parseInt(profileId.slice(-8), 16) | 0
