import type { IpStorage } from '@waymark/contracts'
import ipaddr from 'ipaddr.js'

// Dotted decimal only: the library would also take `42`, `127.1` and octal for IPv4 addresses.
// It throws and catches inside when asked about the wrong kind, which costs more than all the rest.
const isAddress = (text: string): boolean =>
  text.includes(':') ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text)

/** The network of an address, as privacy wants it stored: /24 for IPv4, /48 for IPv6. `null` when it is no address. */
export const truncateIp = (address: string): string | null => {
  if (!isAddress(address)) return null
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/24`).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/48`).toString()
}

/** What may be stored of an address, by a project's setting. `null` when that is nothing, or it is no address. */
export const storableIp = (address: string | null, storage: IpStorage): string | null => {
  if (address === null || storage === 'drop' || !isAddress(address)) return null
  return storage === 'keep' ? ipaddr.process(address).toString() : truncateIp(address)
}

/**
 * What stands for a client among others: its IPv4 address, or its /64 network, since an IPv6 host may use any
 * address of that. Text that is no address stands for itself, cut to 64 characters.
 */
export const clientNetworkOf = (address: string): string => {
  if (!isAddress(address)) return address.slice(0, 64)
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()
}
