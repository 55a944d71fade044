/** The hot paths on PostgreSQL: gathered statements on connections of their own. */
import { Problem } from '../../problems.ts';
import { mustPostAlone, postAlone } from '../post-alone.ts';
import type {
  Claim,
  ClaimedMessage,
  MessageStore,
  Posting,
  PostOutcome,
  Row,
  Settlement,
  SettleOutcome,
} from '../store.ts';
import { claimOutcomes, claims, claimValues } from './claim.ts';
import { codeOf } from './errors.ts';
import type { Floors, Start } from './floors.ts';
import { createForgetting } from './forgetting.ts';
import { type Budget, createGatherer, type Gatherer, type GatherOptions } from './gather.ts';
import { createLink, type Link } from './link.ts';
import { CLAIM_PLANS, POST_PLANS } from './plans.ts';
import type { Pool } from './pool.ts';
import { NOT_ALL, queuePosts, topicPosts, topicPostText, topicPostValues } from './post.ts';
import { batchOf, linksOf } from './post-batch.ts';
import { postOutcomes, readyByQueue } from './post-outcomes.ts';
import type { Links } from './post-parameters.ts';
import { createSettler } from './settle.ts';
import { createTrust } from './trust.ts';

/** Lanes of each kind, measured: more of them make smaller batches. A topic's counter row allows no more than one. */
const QUEUE_LANES = 2;
const CLAIM_LANES = 2;

const HOT_TIMEOUT = 10_000;
const WAITING_BYTES = 64 * 1024 * 1024;

export interface HotPaths extends MessageStore {
  /** Statements sent so far. */
  readonly traffic: number;
  close(): Promise<void>;
}

export function createMessages(url: string, pool: Pool, floors: Floors): HotPaths {
  const links: Link[] = [];
  const lanes = (count: number, parameters: Record<string, string>): Link[] => {
    const made = Array.from({ length: count }, () => createLink(url, { statementTimeout: HOT_TIMEOUT, parameters }));
    links.push(...made);
    return made;
  };
  let traffic = 0;
  const budget: Budget = { used: 0, limit: WAITING_BYTES };
  const common = {
    budget,
    maxCalls: 256,
    maxWeight: 256,
    maxBytes: 1024 * 1024,
    aloneBytes: 256 * 1024,
    isDataError: (error: unknown) => !(error instanceof Problem),
  } as const;

  async function query(link: Link | undefined, ...[text, values]: Parameters<Link['query']>): Promise<Row[]> {
    if (link === undefined) throw new Error('there is no such lane');
    traffic++;
    return (await link.query(text, values)).rows;
  }

  const trust = createTrust();

  async function send(link: Link | undefined, text: typeof queuePosts, postings: readonly Posting[]) {
    const links = linksOf(postings);
    if (links === 'none') return sendAs('none', link, text, postings);
    if (links === 'next' && trust.mayTry(postings)) {
      try {
        const sent = await sendAs('next', link, text, postings);
        trust.confirmed();
        return sent;
      } catch (error) {
        // The server has undone it all, so that the same postings may be sent again.
        if (codeOf(error) !== NOT_ALL) throw error;
        trust.betrayed();
      }
    }
    const sent = await sendAs('any', link, text, postings);
    trust.learn(postings, sent.outcomes);
    return sent;
  }

  async function sendAs(
    links: Links,
    link: Link | undefined,
    text: typeof queuePosts,
    postings: readonly Posting[],
  ): Promise<{ rows: Row[]; outcomes: PostOutcome[] }> {
    const batch = batchOf(postings, links);
    const rows = await query(link, text(batch), batch.values);
    return { rows, outcomes: postOutcomes(postings, links, rows) };
  }

  const posting = {
    ...common,
    bytes: bytesOf,
    weight: ({ messages }: Posting) => messages.length,
    key: ({ once }: Posting) => once?.chain,
  } satisfies Partial<GatherOptions<Posting, PostOutcome>>;

  const queueLinks = lanes(QUEUE_LANES, POST_PLANS);
  const queues = createGatherer<Posting, PostOutcome>({
    ...posting,
    lanes: QUEUE_LANES,
    async run(batch, lane) {
      const { rows, outcomes } = await send(queueLinks[lane], queuePosts, batch);
      for (const [destination, { count, lowest }] of readyByQueue(batch, outcomes, rows)) {
        floors.posted(destination, count, lowest);
      }
      return outcomes;
    },
  });

  const topicLinks = lanes(1, POST_PLANS);
  const topics = createGatherer<Posting, PostOutcome>({
    ...posting,
    lanes: 1,
    async run(batch, lane) {
      return (await send(topicLinks[lane], topicPosts, batch)).outcomes;
    },
  });

  // A destination belongs to one lane: rows that one claim has locked but not taken are never passed over by another.
  const claiming = lanes(CLAIM_LANES, CLAIM_PLANS).map((link) =>
    createGatherer<Claim, ClaimedMessage[]>({
      ...common,
      lanes: 1,
      maxWeight: 1024,
      weight: ({ max }) => max,
      async run(batch) {
        const starts = new Map<number, Start>();
        const values = claimValues(batch, (destination) => {
          const start = floors.start(destination);
          starts.set(destination, start);
          return start.place;
        });
        try {
          return claimOutcomes(batch, await query(link, claims, values), starts);
        } catch (error) {
          for (const destination of starts.keys()) floors.forget(destination);
          throw error;
        }
      },
    }),
  );

  const [settleLink] = lanes(1, CLAIM_PLANS);
  const settling = createGatherer<Settlement, SettleOutcome>({
    ...common,
    lanes: 1,
    key: ({ id }) => id,
    run: createSettler((text, values) => query(settleLink, text, values), floors),
  });

  async function postOnItsOwn(call: Posting): Promise<PostOutcome> {
    traffic++;
    const outcome = await pool.transaction((tx) => postAlone(tx, call));
    floors.forget(call.destination);
    return outcome;
  }

  const forget = createForgetting();
  const gatherers: Pick<Gatherer<never, unknown>, 'idle'>[] = [queues, topics, settling, ...claiming];
  return {
    post(call) {
      if (mustPostAlone(call)) return postOnItsOwn(call);
      return (call.kind === 'queue' ? queues : topics).submit(call);
    },
    async postIn(tx, call) {
      const outcome = await postAlone(tx, call);
      floors.forget(call.destination);
      return outcome;
    },
    async postLast(tx, { destination, posted, messages }) {
      if (messages.length === 0) return;
      await tx.finish(topicPostText(messages.length), topicPostValues(destination, posted, messages));
    },
    claim(call) {
      const lane = claiming[call.destination % CLAIM_LANES];
      if (lane === undefined) throw new RangeError(`destination ${call.destination}`);
      return lane.submit(call);
    },
    settle: (call) => settling.submit(call),
    forgetFinished: (step) => pool.transaction((tx) => forget(tx, step)),
    hasVolatileRoom: () => true,
    get traffic() {
      return traffic;
    },
    async close() {
      await Promise.all(gatherers.map((gatherer) => gatherer.idle()));
      await Promise.all(links.map((link) => link.close()));
    },
  };
}

function bytesOf({ messages }: Posting): number {
  let bytes = 0;
  for (const message of messages) bytes += message.body.length + message.headers.length;
  return bytes;
}
