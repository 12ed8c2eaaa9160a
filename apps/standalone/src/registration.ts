import { BlockList, isIP } from 'node:net'
import type { RegistrationMode } from '@waymark/management-api'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

/** Whether `host` is a loopback address; empty means every address. */
export const isLoopback = (host: string): boolean => {
  if (host.toLowerCase() === 'localhost') return true
  const family = isIP(host)
  return family !== 0 && loopback.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

/** The registration mode: as set, otherwise `open` on a loopback address and `invite` on all others. */
export const registrationModeOf = (mode: RegistrationMode | '', host: string): RegistrationMode =>
  mode || (isLoopback(host) ? 'open' : 'invite')
