import { stat } from 'node:fs/promises'
import type { Log } from '@waymark/contracts'
import { type Locate, locateNowhere, normalisedIp } from '@waymark/domain'
import { type CityResponse, open } from 'maxmind'
import type { Scope } from './scope.ts'

const REMEMBERED_ADDRESSES = 10_000
/** Pause between two looks whether the file has been replaced, in ms. */
const LOOK_MS = 5_000

const read = (file: string) => open<CityResponse>(file, { cache: { max: REMEMBERED_ADDRESSES } })

const versionOf = async (file: string): Promise<string> => {
  const { ino, size, mtimeMs } = await stat(file)
  return `${ino} ${size} ${mtimeMs}`
}

/**
 * Opens an MMDB file of countries and, where it has them, cities; it is read again when the file is replaced or written
 * over, and what was known stays known as long as it cannot be read. Without a file nothing is known of any address.
 * @throws when there is no such file, or it is not of that format
 */
export const openGeoDatabase = async (
  file: string,
  { log, scope, lookEveryMs = LOOK_MS }: { log: Log; scope: Scope; lookEveryMs?: number },
): Promise<Locate> => {
  if (file === '') return locateNowhere
  let inUse = await versionOf(file)
  let seen = inUse
  let reader = await read(file)

  const look = async (): Promise<void> => {
    const version = await versionOf(file)
    // A file that changes between two looks is still being written.
    const settled = version === seen
    seen = version
    if (!settled || version === inUse) return
    reader = await read(file)
    inUse = version
  }
  const complain = (error: unknown): void =>
    log.warn({ err: error, file }, 'GeoIP database could not be reloaded; using the previous one')
  // It must not keep a process alive that is to end.
  const looking = setInterval(() => void look().catch(complain), lookEveryMs).unref()
  scope.onStop('geo database', async () => clearInterval(looking))

  return (ip) => {
    const address = ip === null ? null : normalisedIp(ip)
    const found = address === null ? null : reader.get(address)
    return { country: found?.country?.iso_code ?? null, city: found?.city?.names?.en ?? null }
  }
}
