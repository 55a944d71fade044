/** SQL of the nodes that share a database: one function per statement, the same text on both engines. */
import type { Tx } from '../store/store.ts';

/**
 * True in SQL when the node whose id stands in that column is no more: it left, or others held it for dead. There is no
 * clock in it: whether a lease is over is decided once, by the statement that removes the node's row.
 */
export const isGone = (owner: string): string => `NOT EXISTS (SELECT 1 FROM node WHERE node.id = ${owner})`;

export interface NodeRow {
  readonly id: string;
  /** The lease is over then, by the store's clock. */
  readonly until: number;
}

/** Where a node runs: a machine and port, and the number of its process there. */
export interface Place {
  readonly name: string;
  readonly process: number;
}

export async function enter(tx: Tx, id: string, { name, process }: Place, until: number): Promise<void> {
  await tx.run('INSERT INTO node (id, place, process, beat_until) VALUES ($1, $2, $3, $4)', [id, name, process, until]);
}

/** False: others held it for dead, and what it owned may be theirs. */
export async function renew(tx: Tx, id: string, until: number): Promise<boolean> {
  return (await tx.run('UPDATE node SET beat_until = $2 WHERE id = $1', [id, until])) > 0;
}

export async function remove(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM node WHERE id = $1', [id]);
}

export async function removeAll(tx: Tx): Promise<void> {
  await tx.run('DELETE FROM node');
}

/** Declares a node dead, unless it was heard of since. This one conditional write decides. */
export async function bury(tx: Tx, { id, until }: NodeRow): Promise<boolean> {
  return (await tx.run('DELETE FROM node WHERE id = $1 AND beat_until = $2', [id, until])) > 0;
}

export async function listNodes(tx: Tx): Promise<NodeRow[]> {
  return tx.all<NodeRow>('SELECT id, beat_until AS until FROM node');
}

/** Those that were entered for that machine and port, with the numbers of their processes as far as they are known. */
export async function nodesAt(tx: Tx, place: string): Promise<{ id: string; process: number | null }[]> {
  return tx.all<{ id: string; process: number | null }>('SELECT id, process FROM node WHERE place = $1', [place]);
}
