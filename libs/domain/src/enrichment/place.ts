/** Where an address is, as far as that is known: an ISO 3166 country code and the city's English name. */
export type Place = { country: string | null; city: string | null }

/** Looks an address up. `null` stands for an unknown one. */
export type Locate = (ip: string | null) => Place

/** What is known without a database of addresses. */
export const locateNowhere: Locate = () => ({ country: null, city: null })
