/**
 * Bounds what is under way at once: bytes of messages in memory, and calls to targets that failed before. The latter have a
 * lane of their own, so that however many targets hang, those that work never wait for them.
 */
export interface Gate {
  /** Resolves when there is room; call what it gives when done. */
  enter(bytes: number, isRetry: boolean): Promise<() => void>;
}

export interface GateLimits {
  readonly bytes: number;
  readonly retries: number;
}

interface Lane {
  readonly most: { readonly bytes: number; readonly calls: number };
  bytes: number;
  calls: number;
  readonly waiting: { readonly bytes: number; readonly enter: () => void }[];
}

export function createGate({ bytes, retries }: GateLimits): Gate {
  const lane = (most: Lane['most']): Lane => ({ most, bytes: 0, calls: 0, waiting: [] });
  const fresh = lane({ bytes, calls: Number.POSITIVE_INFINITY });
  const again = lane({ bytes: bytes / 4, calls: retries });

  /** The first one is let in whatever its size. */
  const hasRoom = (at: Lane, wanted: number): boolean =>
    at.calls === 0 || (at.calls < at.most.calls && at.bytes + wanted <= at.most.bytes);

  function take(at: Lane, wanted: number): () => void {
    at.calls += 1;
    at.bytes += wanted;
    return () => {
      at.calls -= 1;
      at.bytes -= wanted;
      for (let next = at.waiting[0]; next !== undefined && hasRoom(at, next.bytes); next = at.waiting[0]) {
        at.waiting.shift();
        next.enter();
      }
    };
  }

  return {
    enter(wanted, isRetry) {
      const at = isRetry ? again : fresh;
      if (at.waiting.length === 0 && hasRoom(at, wanted)) return Promise.resolve(take(at, wanted));
      return new Promise((resolve) => {
        at.waiting.push({ bytes: wanted, enter: () => resolve(take(at, wanted)) });
      });
    },
  };
}
