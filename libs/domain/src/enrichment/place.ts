/** The location of an address: an ISO 3166 country code and the English name of the city. */
export type Place = { country: string | null; city: string | null }

/** Looks up the location of an address. `null` means an unknown address. */
export type Locate = (ip: string | null) => Place

/** The lookup without a GeoIP database. */
export const locateNowhere: Locate = () => ({ country: null, city: null })
