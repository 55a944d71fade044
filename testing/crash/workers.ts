/** Workers that lease messages and say what became of them, or fail to. */
import { type Client, isBusy, pathOf } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import { messagesIn } from './parts.ts';
import type { Random } from './random.ts';

/** Seconds. Short, so that many leases are over while the service is down. */
const LEASE = 0.6;
const EXTENSION = 2;
/** The longest that anything stays leased or delayed when all is quiet. */
export const LONGEST_LEASE = Math.max(LEASE, EXTENSION);
const MOST_DELIVERIES = 4;
export const LEASED_SETTINGS = `lease=${LEASE}&max-deliveries=${MOST_DELIVERIES}`;
/** Milliseconds by which the clocks of the service and of this process may differ. */
const MARGIN = 100;

/** What a worker does with a delivery, by shares. `acknowledge` in all other cases. */
const CONDUCT = [
  { does: 'abandon', share: 0.05 },
  { does: 'return', share: 0.1 },
  { does: 'return later', share: 0.05 },
  { does: 'extend', share: 0.15 },
  { does: 'lose heart', share: 0.05 },
] as const;

type Conduct = (typeof CONDUCT)[number]['does'] | 'acknowledge';

type Delivery = {
  readonly key: string;
  readonly count: number;
  readonly link: string;
  /** When the lease is over at the earliest. */
  leasedUntil: number;
};

/** Leases up to `max` messages and settles each. How many came. */
export async function work(
  client: Client,
  ledger: Ledger,
  queue: string,
  { max, wait, conduct }: { max: number; wait: number; conduct: (key: string) => Conduct },
): Promise<number> {
  const sent = performance.now();
  const answer = await client.send(`${queue}/poller?max=${max}`, {
    method: 'POST',
    headers: { 'accept-wait': String(wait) },
  });
  if (answer === undefined || isBusy(answer) || answer.status === 204 || answer.status === 404) return 0;
  if (answer.status !== 200) {
    ledger.wrong(`the poller of ${queue} was answered ${answer.status}: ${answer.text()}`);
    return 0;
  }
  const parts = messagesIn(answer);
  if (parts.length === 0 || parts.length > max) ledger.wrong(`the poller of ${queue} gave ${parts.length} messages`);
  const deliveries: Delivery[] = [];
  for (const { location, body, deliveries: count, acknowledgement } of parts) {
    const key = ledger.delivered(queue, pathOf(location), body, count);
    if (key === undefined) continue;
    if (!(count <= MOST_DELIVERIES)) ledger.wrong(`${key} has delivery ${count} of at most ${MOST_DELIVERIES}`);
    deliveries.push({ key, count, link: pathOf(acknowledgement), leasedUntil: sent + LEASE * 1000 });
  }
  for (const delivery of deliveries) await settle(client, ledger, delivery, conduct(delivery.key));
  return parts.length;
}

export function randomConduct(random: Random, key: string): Conduct {
  // Some messages nobody can cope with: they die.
  if (key.endsWith('5')) return 'return';
  let left = random.fraction();
  for (const { does, share } of CONDUCT) {
    left -= share;
    if (left < 0) return does;
  }
  return 'acknowledge';
}

async function settle(client: Client, ledger: Ledger, delivery: Delivery, conduct: Conduct): Promise<void> {
  const { key, count, link } = delivery;
  const say = (body: string) => ({ method: 'POST', headers: FORM, body });
  const ends = (status: number | undefined, verdict: string): boolean => judge(ledger, delivery, status, verdict);

  switch (conduct) {
    case 'abandon':
      return;
    case 'return':
      ends((await client.send(link, say('acknowledge=false')))?.status, conduct);
      return;
    case 'return later':
      ends((await client.send(link, say('acknowledge=false&delay=0.1')))?.status, conduct);
      return;
    case 'lose heart': {
      // A worker that does not ask again when the answer is lost.
      const answer = await client.send(link, say('acknowledge=true'));
      if (answer === undefined || isBusy(answer)) ledger.unsure(key);
      else if (ends(answer.status, conduct)) ledger.acknowledged(key, count);
      return;
    }
    case 'extend': {
      let sent = 0;
      const answer = await client.insist(link, say(`extend=${EXTENSION}`), () => {
        sent = performance.now();
      });
      if (!ends(answer.status, conduct)) return;
      delivery.leasedUntil = sent + EXTENSION * 1000;
    }
  }
  const answer = await client.insist(link, say('acknowledge=true'));
  if (ends(answer.status, 'acknowledge')) ledger.acknowledged(key, count);
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Whether the verdict counts. Only a lease that is over may be overtaken. */
function judge(ledger: Ledger, delivery: Delivery, status: number | undefined, verdict: string): boolean {
  if (status === 204) return true;
  const { key, count, leasedUntil } = delivery;
  if (status === 412) {
    const left = leasedUntil - MARGIN - performance.now();
    if (left > 0) ledger.wrong(`${key}, delivery ${count}: overtaken ${left.toFixed(0)} ms before its lease was over`);
  } else if (status !== undefined && status !== 503) {
    ledger.wrong(`${key}, delivery ${count}: ${verdict} was answered ${status}`);
  }
  return false;
}
