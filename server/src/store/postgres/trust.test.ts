import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTrust, type Trust } from './trust.ts';

/** How many of the batches were tried, when the ones that the test names go wrong. */
function tried(trust: Trust, batches: number, isWrong: (batch: number) => boolean): number {
  let count = 0;
  for (let batch = 0; batch < batches; batch++) {
    if (!trust.mayTry([])) continue;
    count++;
    if (isWrong(batch)) trust.betrayed();
    else trust.confirmed();
  }
  return count;
}

describe('trust in links', () => {
  it('tries every batch as long as all goes well', () => {
    assert.equal(
      tried(createTrust(), 1_000, () => false),
      1_000,
    );
  });

  it('tries few of the batches that all go wrong', () => {
    const trust = createTrust();
    assert.equal(
      tried(trust, 1 + 1 + 1 + 2 + 1 + 4, () => true),
      3,
    );
    const later = tried(trust, 6_500, () => true);
    assert.ok(later > 90 && later < 110, `${later} of 6500`);
  });

  it('is careful with one batch after a single mishap', () => {
    assert.equal(
      tried(createTrust(), 1_000, (batch) => batch === 500),
      999,
    );
  });

  it('is careful with a chain whose link was refused until one is used, and with no other', () => {
    const trust = createTrust();
    const [one, other] = [1, 2].map((chain) => ({ once: { chain, n: 5, expires: 9 } }));
    assert.ok(one !== undefined && other !== undefined);
    for (const refused of ['once-used', 'no-destination'] as const) {
      trust.learn([one, other, {}], [refused, 'stored', 'stored']);
      assert.deepEqual([trust.mayTry([{}, one]), trust.mayTry([other, {}])], [false, true]);
      trust.learn([one], ['stored']);
      assert.equal(trust.mayTry([one, other]), true);
    }
  });

  it('remembers only so many refused chains, the latest ones', () => {
    const trust = createTrust();
    const linkOf = (chain: number) => ({ once: { chain, n: 5, expires: 9 } });
    const doubts = () => Array.from({ length: 5_000 }, (_, chain) => !trust.mayTry([linkOf(chain)])).lastIndexOf(false);
    for (let chain = 0; chain < 5_000; chain++) trust.learn([linkOf(chain)], ['once-used']);
    assert.equal(doubts(), 5_000 - 1024 - 1);
    trust.learn([linkOf(4_000)], ['once-used']);
    trust.learn([linkOf(5_000)], ['once-used']);
    assert.equal(trust.mayTry([linkOf(4_000)]), false);
  });

  it('comes back when all goes well again', () => {
    const trust = createTrust();
    tried(trust, 5_000, () => true);
    tried(trust, 200, () => false);
    assert.equal(
      tried(trust, 1_000, (batch) => batch === 500),
      999,
    );
  });
});
