import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTrust, type Trust } from './trust.ts';

/** How many of the batches were tried, when the ones that the test names go wrong. */
function tried(trust: Trust, batches: number, isWrong: (batch: number) => boolean): number {
  let count = 0;
  for (let batch = 0; batch < batches; batch++) {
    if (!trust.mayTry()) continue;
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
