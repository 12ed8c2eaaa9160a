import type { IpStorage } from '@waymark/contracts/project-settings'
import ipaddr from 'ipaddr.js'

const MAPPED_IPV4 = '::ffff:'
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
// Dotted decimal only: the library also accepts `42`, `127.1` and octal numbers as IPv4, and is slower.
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`)

/** The IPv4 address of `address`, also if it is mapped into IPv6, as by a dual-stack socket. */
const ipv4In = (address: string): string | undefined => {
  const plain = address.startsWith(MAPPED_IPV4) ? address.slice(MAPPED_IPV4.length) : address
  return IPV4.test(plain) ? plain : undefined
}

/** The network of an address, for privacy: /24 for IPv4, /48 for IPv6. `null` when it is not an address. */
export const truncateIp = (address: string): string | null => {
  const address4 = ipv4In(address)
  if (address4 !== undefined) return address4.replace(/\d+$/, '0')
  const parsed = parse(address)
  if (parsed === null) return null
  return parsed.kind() === 'ipv4' ? truncateIp(parsed.toString()) : ipv6Network(parsed, 48)
}

/** Normalizes an address. IPv4 that is mapped into IPv6 becomes IPv4. `null` when it is not an address. */
export const normalisedIp = (address: string): string | null =>
  ipv4In(address) ?? parse(address)?.toString() ?? null

/** The part of an address that may be stored by a project's setting. `null` for nothing, or when it is not an address. */
export const storableIp = (address: string | null, storage: IpStorage): string | null => {
  if (address === null || storage === 'drop') return null
  return storage === 'keep' ? normalisedIp(address) : truncateIp(address)
}

/**
 * The key of a client for limits: its IPv4 address, or its /64 network, because an IPv6 host may use any address in it.
 * Other text is truncated to 64 characters.
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
