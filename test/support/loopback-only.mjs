// Loaded into every process of a test run through NODE_OPTIONS. Refuses sockets to any address except 127.0.0.0/8 and
// ::1, and resolves no name except localhost, so that no test depends on a network or reaches another machine. Each
// refusal is written to the file in TEST_REFUSED_SOCKETS, which fails the run: code under test may swallow the error.
import dgram from 'node:dgram';
import dns from 'node:dns';
import { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const loopback = new net.BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

function isLoopback(address) {
  const family = net.isIP(address);
  return family !== 0 && loopback.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

function refuse(target) {
  const { TEST_REFUSED_SOCKETS } = process.env;
  const error = new Error(`tests connect to loopback addresses only, got ${target}`);
  if (TEST_REFUSED_SOCKETS) appendFileSync(TEST_REFUSED_SOCKETS, `${error.stack}\n`);
  return Object.assign(error, { code: 'ECONNREFUSED' });
}

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function connectToLoopback(...args) {
  // net.connect() passes its arguments as one normalised array.
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  const options = typeof first === 'object' && first !== null ? first : { port: first, host: second };
  const { host } = options;
  if (options.path === undefined && typeof host === 'string' && net.isIP(host) !== 0 && !isLoopback(host)) {
    const error = refuse(host);
    process.nextTick(() => this.destroy(error));
    return this;
  }
  // The caller's own lookup may return any address, and so may '10.1'.
  if (typeof host === 'string' && net.isIP(host) === 0 && typeof first === 'object')
    options.lookup = checkedLookup(options.lookup ?? dns.lookup);
  return connect.apply(this, args);
};

function checkedLookup(lookup) {
  return (name, options, answer) =>
    lookup(name, options, (error, addresses, family) => {
      const found = Array.isArray(addresses) ? addresses.map(({ address }) => address) : [addresses];
      const outside = error ? undefined : found.find((address) => !isLoopback(address));
      if (outside === undefined) answer(error, addresses, family);
      else answer(refuse(outside));
    });
}

const send = dgram.Socket.prototype.send;
dgram.Socket.prototype.send = function sendToLoopback(...args) {
  const host = args.find((arg) => typeof arg === 'string' && net.isIP(arg) !== 0);
  if (host !== undefined && !isLoopback(host)) throw refuse(host);
  return send.apply(this, args);
};

// The resolver of the tests: it knows localhost, returns literal addresses, and sends nothing to a name server.
function unknownName(name) {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname: name,
  });
}
const isKnown = (name) => !name || name === 'localhost' || net.isIP(name) !== 0 || /^[\d.]+$/.test(name);
const { lookup } = dns;
dns.lookup = function lookupLocally(name, ...rest) {
  if (isKnown(name)) return lookup.call(dns, name, ...rest);
  const answer = rest.at(-1);
  process.nextTick(() => answer(unknownName(name)));
};
const lookupPromised = dns.promises.lookup;
dns.promises.lookup = function lookupLocally(name, options) {
  return isKnown(name) ? lookupPromised.call(dns.promises, name, options) : Promise.reject(unknownName(name));
};
syncBuiltinESMExports();
