/** What came of terminating many, as documents. */
import type { Document } from '../../http/document.ts';
import type { Link } from '../../http/links.ts';
import { timeOf } from '../../http/times.ts';
import { paths } from '../../paths.ts';
import type { BulkKind, Job, Outcome } from '../bulk.ts';
import { addresses } from './consumers.ts';

const EXPLANATIONS: Partial<Record<Outcome['outcome'], (kind: BulkKind) => string>> = {
  unknown: (kind) => `there is no such ${kind}`,
  refused: (kind) => `neither the id nor the URI of a ${kind} of this service`,
  unchanged: () => 'was terminated already',
};

function outcomeDocument({ item, status, outcome, id }: Outcome, kind: BulkKind): Document {
  const links: Link[] = [];
  if (id !== undefined && outcome !== 'unknown') links.push({ rel: kind, href: addresses[kind](id) });
  return { name: 'outcome', fields: { item, status, outcome, detail: EXPLANATIONS[outcome]?.(kind) }, links };
}

function countsOf(outcomes: readonly Outcome[]) {
  const count = (wanted: Outcome['outcome']): number => outcomes.filter(({ outcome }) => outcome === wanted).length;
  return {
    terminated: count('terminated'),
    unchanged: count('unchanged'),
    unknown: count('unknown'),
    refused: count('refused'),
  };
}

/** One that the client waited for. */
export function outcomesDocument(kind: BulkKind, outcomes: readonly Outcome[]): Document {
  const { length: total } = outcomes;
  return {
    name: 'termination',
    fields: { state: 'finished', total, done: total, ...countsOf(outcomes) },
    links: [{ rel: 'collection', href: (kind === 'consumer' ? paths.consumers : paths.entitlements).href({}) }],
    items: outcomes.map((outcome) => outcomeDocument(outcome, kind)),
  };
}

/** One that runs in the background. */
export function terminationDocument(job: Job, outcomes: readonly Outcome[], termination: string): Document {
  const { kind, total, done, created, finished } = job;
  const document = outcomesDocument(kind, outcomes);
  return {
    ...document,
    fields: {
      ...document.fields,
      state: finished === undefined ? 'running' : 'finished',
      total,
      done,
      created: timeOf(created),
      finished: finished === undefined ? undefined : timeOf(finished),
    },
    links: [{ rel: 'self', href: paths.termination.href({ termination }) }, ...document.links],
    version: done,
  };
}
