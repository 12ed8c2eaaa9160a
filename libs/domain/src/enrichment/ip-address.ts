import type { IpStorage } from '@waymark/contracts'
import ipaddr from 'ipaddr.js'

const MAPPED_IPV4 = '::ffff:'
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
// Dotted decimal only: the library would also take `42`, `127.1` and octal for IPv4 addresses, and is slow at it.
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`)

/** The IPv4 address that `address` is, also where it is written as an IPv6 one, as a socket on both kinds does. */
const ipv4In = (address: string): string | undefined => {
  const plain = address.startsWith(MAPPED_IPV4) ? address.slice(MAPPED_IPV4.length) : address
  return IPV4.test(plain) ? plain : undefined
}

/** The network of an address, as privacy wants it stored: /24 for IPv4, /48 for IPv6. `null` when it is no address. */
export const truncateIp = (address: string): string | null => {
  const address4 = ipv4In(address)
  if (address4 !== undefined) return address4.replace(/\d+$/, '0')
  const parsed = parse(address)
  if (parsed === null) return null
  return parsed.kind() === 'ipv4' ? truncateIp(parsed.toString()) : ipv6Network(parsed, 48)
}

/** An address in its usual form, an IPv4 one that is mapped into IPv6 as IPv4. `null` when it is no address. */
export const normalisedIp = (address: string): string | null =>
  ipv4In(address) ?? parse(address)?.toString() ?? null

/** What may be stored of an address, by a project's setting. `null` when that is nothing, or it is no address. */
export const storableIp = (address: string | null, storage: IpStorage): string | null => {
  if (address === null || storage === 'drop') return null
  return storage === 'keep' ? normalisedIp(address) : truncateIp(address)
}

/**
 * What stands for a client among others: its IPv4 address, or its /64 network, since an IPv6 host may use any
 * address of that. Text that is no address stands for itself, cut to 64 characters.
 */
export const clientNetworkOf = (address: string): string => {
  const address4 = ipv4In(address)
  if (address4 !== undefined) return address4
  const parsed = parse(address)
  if (parsed === null) return address.slice(0, 64)
  return parsed.kind() === 'ipv4' ? parsed.toString() : ipv6Network(parsed, 64)
}

type Address = ReturnType<typeof ipaddr.process>

const parse = (address: string): Address | null =>
  ipaddr.IPv6.isValid(address) ? ipaddr.process(address) : null

const ipv6Network = (address: Address, bits: number): string =>
  ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()
