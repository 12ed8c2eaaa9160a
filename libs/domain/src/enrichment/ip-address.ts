import ipaddr from 'ipaddr.js'

/** The network of an address, as privacy wants it stored: /24 for IPv4, /48 for IPv6. `null` when it is no address. */
export const truncateIp = (address: string): string | null => {
  // Dotted decimal only: the library would also take `42`, `127.1` and octal for IPv4 addresses.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return null
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/24`).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/48`).toString()
}
