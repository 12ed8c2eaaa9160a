import ipaddr from 'ipaddr.js'

/** The part of IPv6 that is assigned to hosts on the internet: 2000::/3. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** Azure's internal services for its virtual machines have an address that is not reserved. */
const AZURE_SERVICES = '168.63.129.16'

/**
 * Whether an address belongs to a host on the internet. False for loopback, private, link-local, multicast, reserved
 * and translated addresses, and for text that is no address.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast' || parsed.toString() === AZURE_SERVICES) return false
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST)
}
