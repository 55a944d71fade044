/** Numbers that are never handed out twice, from blocks reserved in the database ahead of need. */
import { Problem } from '../problems.ts';
import { ID_BLOCK } from './migrate.ts';

export interface IdBlocks {
  next(): number;
  /** Resolves when no reservation is under way. */
  settled(): Promise<void>;
}

/**
 * `next` is synchronous, so the following block is reserved while half of the present one is left. Should both run out
 * before the database answers, `next` says that the store is not available.
 */
export async function createIdBlocks(reserve: () => Promise<number>): Promise<IdBlocks> {
  let next = await reserve();
  let end = next + ID_BLOCK;
  let following: number | undefined;
  let failure: unknown;
  let pending: Promise<void> | undefined;

  const refill = (): void => {
    pending ??= reserve()
      .then(
        (start) => {
          following = start;
          failure = undefined;
        },
        (error) => {
          failure = error;
        },
      )
      .finally(() => {
        pending = undefined;
      });
  };

  return {
    next() {
      if (following === undefined && end - next < ID_BLOCK / 2) refill();
      if (next === end) {
        if (following === undefined) {
          const retry = { headers: { 'Retry-After': '1' } };
          throw new Problem('store-unavailable', 'no message ids are left until the store answers', retry, failure);
        }
        next = following;
        end = next + ID_BLOCK;
        following = undefined;
      }
      return next++;
    },
    async settled() {
      await pending;
    },
  };
}
