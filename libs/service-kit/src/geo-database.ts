import { stat } from 'node:fs/promises'
import type { Log } from '@waymark/contracts/log'
import { type Locate, locateNowhere, normalisedIp } from '@waymark/domain/enrichment'
import { type CityResponse, open } from 'maxmind'
import type { Scope } from './scope.ts'

const MAX_CACHED_ADDRESSES = 10_000
/** Interval of checks whether the file has changed, in ms. */
const CHECK_INTERVAL_MS = 5_000

const read = (file: string) => open<CityResponse>(file, { cache: { max: MAX_CACHED_ADDRESSES } })

const versionOf = async (file: string): Promise<string> => {
  const { ino, size, mtimeMs } = await stat(file)
  return `${ino} ${size} ${mtimeMs}`
}

/**
 * Opens an MMDB file with countries and optionally cities. It is loaded again when the file changes; if that fails, the
 * loaded data stays in use. Without a file, no address has a location.
 * @throws when the file does not exist or is not an MMDB file
 */
export const openGeoDatabase = async (
  file: string,
  { log, scope, checkEveryMs = CHECK_INTERVAL_MS }: { log: Log; scope: Scope; checkEveryMs?: number },
): Promise<Locate> => {
  if (file === '') return locateNowhere
  let inUse = await versionOf(file)
  let seen = inUse
  let reader = await read(file)

  const reloadIfChanged = async (): Promise<void> => {
    const version = await versionOf(file)
    // A file that changed since the last check may still be being written.
    const isStable = version === seen
    seen = version
    if (!isStable || version === inUse) return
    reader = await read(file)
    inUse = version
  }
  const logFailure = (error: unknown): void =>
    log.warn({ err: error, file }, 'GeoIP database could not be reloaded; using the previous one')
  const timer = setInterval(() => void reloadIfChanged().catch(logFailure), checkEveryMs).unref()
  scope.onStop('geo database', async () => clearInterval(timer))

  return (ip) => {
    const address = ip === null ? null : normalisedIp(ip)
    const found = address === null ? null : reader.get(address)
    return { country: found?.country?.iso_code ?? null, city: found?.city?.names?.en ?? null }
  }
}
