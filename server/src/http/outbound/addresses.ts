/**
 * Which addresses outbound calls may reach. Everything that is not the public internet is refused unless configuration
 * allows it: a stranger who may name a URL must not be able to speak to this machine, its neighbours or the metadata
 * service of its cloud.
 */
import { BlockList, isIP } from 'node:net';
import type { Cidr } from '../../kinds.ts';

/** IPv4 ranges that are not the public internet (IANA special-purpose registry), and one metadata address inside it. */
const REFUSED_IPV4: readonly (readonly [address: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/**
 * Of IPv6 only global unicast is public; what else there is (loopback, link-local, unique local, multicast, NAT64, mapped
 * addresses) lies outside of it. These ranges inside it carry other addresses or lead nowhere: Teredo and other protocol
 * assignments, documentation, 6to4.
 */
const PUBLIC_IPV6: readonly [address: string, prefix: number] = ['2000::', 3];
const REFUSED_IPV6: readonly (readonly [address: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

export const LOOPBACK: readonly Cidr[] = [
  { address: '127.0.0.0', prefix: 8, family: 'ipv4' },
  { address: '::1', prefix: 128, family: 'ipv6' },
];

const refusedIpv4 = new BlockList();
for (const [address, prefix] of REFUSED_IPV4) refusedIpv4.addSubnet(address, prefix, 'ipv4');
const refusedIpv6 = new BlockList();
for (const [address, prefix] of REFUSED_IPV6) refusedIpv6.addSubnet(address, prefix, 'ipv6');
const publicIpv6 = new BlockList();
publicIpv6.addSubnet(...PUBLIC_IPV6, 'ipv6');

/** Makes the rule for addresses as `isIP` reads them, with or without the brackets of a URL. */
export function createAddressRule(allowed: readonly Cidr[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, prefix, family } of allowed) list.addSubnet(address, prefix, family);

  return (given) => {
    const address = unmapped(given.replace(/^\[|\]$/g, ''));
    const version = isIP(address);
    if (version === 0) return false;
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (list.check(address, family)) return true;
    if (version === 4) return !refusedIpv4.check(address, 'ipv4');
    return publicIpv6.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6');
  };
}

/** An IPv4 address that is written as an IPv6 one reaches the IPv4 one, so it is judged as that. */
function unmapped(address: string): string {
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  const hex = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address);
  if (hex === null) return address;
  const [high, low] = [Number.parseInt(hex[1] ?? '', 16), Number.parseInt(hex[2] ?? '', 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
