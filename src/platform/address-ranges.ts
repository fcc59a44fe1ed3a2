// Network addresses that our requests must not reach, unless an administrator allows them.
import { BlockList, isIP } from 'node:net';
import { RowmillError } from '../core/errors/rowmill-error.ts';

// Everything outside the public internet: this host, private networks, link-local (which includes cloud metadata
// services), carrier NAT, documentation, benchmarks, multicast and reserved ranges; also IPv6 prefixes that embed an
// IPv4 address.
const PRIVATE_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

const privateAddresses = addressRanges(PRIVATE_RANGES);

/** Parses ranges such as 10.1.0.0/16 and single addresses. */
export function addressRanges(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const version = isIP(address);
    const bits = prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix);
    const isWhole = prefix === undefined || /^\d{1,3}$/.test(prefix);
    if (version === 0 || !isWhole || bits > (version === 4 ? 32 : 128))
      throw new RowmillError(
        'SETTINGS_INVALID',
        `expected an address range such as 10.1.0.0/16, got ${range}`,
      );
    list.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** `setting` has ranges separated by commas, or `none`. */
export function parseAddressRanges(setting: string): BlockList {
  const ranges = setting.split(',').map((range) => range.trim());
  return addressRanges(ranges.filter((range) => range !== '' && range !== 'none'));
}

/** IPv4-mapped IPv6 addresses match IPv4 ranges. */
export function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

export function isPrivate(address: string): boolean {
  return isIP(address) === 0 || isIn(privateAddresses, address);
}
