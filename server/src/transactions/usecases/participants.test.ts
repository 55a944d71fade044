import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Outbound } from '../../http/outbound/outbound.ts';
import { Problem } from '../../problems.ts';
import { meaningOfVote, type ParticipantLog } from '../protocol.ts';
import { createParticipants, type LocalParticipant } from './participants.ts';

const nowhere: Outbound = {
  check: async () => undefined,
  send: () => Promise.reject(new Error('the connection was refused')),
  close: async () => {},
};
const participant = (uri: string): ParticipantLog => ({
  id: 1,
  uri,
  state: 'asked',
  tries: 0,
  nextTry: null,
  mayStray: false,
  isLocal: uri.startsWith('/'),
});
const call = { timeout: 1000 };

it('a vote that could not be written is no vote, and disturbs nobody else', async () => {
  const full: LocalParticipant = {
    matches: (path) => path === '/full',
    order: () => Promise.reject(new Problem('storage-full', 'the disk is full')),
    look: () => Promise.reject(new Problem('storage-full', 'the disk is full')),
  };
  const participants = createParticipants([full], nowhere);
  for (const reply of [
    await participants.order(participant('/full'), 1, 'prepared', call),
    await participants.look(participant('/full'), 1, call),
    await participants.order(participant('http://gone.example/'), 1, 'prepared', call),
  ]) {
    assert.equal(reply.status, 0);
    assert.ok(reply.detail);
    assert.equal(meaningOfVote(reply), 'again');
  }
});

it('nothing at a local address refuses', async () => {
  const reply = await createParticipants([], nowhere).order(participant('/nothing'), 1, 'prepared', call);
  assert.equal(meaningOfVote(reply), 'refused');
});
