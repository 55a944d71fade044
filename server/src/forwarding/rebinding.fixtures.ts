/** Loaded before a service, this makes one name resolve to a public address once and to loopback ever after. */
import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';

const real = dns.lookup;
let asked = 0;

const lookup = (name: string, options: never): Promise<unknown> => {
  if (name !== 'rebinding.example') return real(name, options);
  asked += 1;
  return Promise.resolve([{ address: asked === 1 ? '93.184.216.34' : '127.0.0.1', family: 4 }]);
};
dns.lookup = lookup as typeof dns.lookup;
syncBuiltinESMExports();
