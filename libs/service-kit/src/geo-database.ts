import { type Locate, locateNowhere, normalisedIp } from '@waymark/domain'
import { type CityResponse, open } from 'maxmind'

const REMEMBERED_ADDRESSES = 10_000

/**
 * Opens an MMDB file of countries and, where it has them, cities; it is read again when the file is replaced.
 * Without a file nothing is known of any address.
 * @throws when there is no such file, or it is not of that format
 */
export const openGeoDatabase = async (file: string): Promise<Locate> => {
  if (file === '') return locateNowhere
  const reader = await open<CityResponse>(file, {
    cache: { max: REMEMBERED_ADDRESSES },
    watchForUpdates: true,
    // It must not keep a process alive that is to end.
    watchForUpdatesNonPersistent: true,
  })
  return (ip) => {
    const address = ip === null ? null : normalisedIp(ip)
    const found = address === null ? null : reader.get(address)
    return { country: found?.country?.iso_code ?? null, city: found?.city?.names?.en ?? null }
  }
}
