/** Hands news to the listeners of this process. Both engines use it; PostgreSQL also carries news between nodes. */
import type { News } from './store.ts';

export interface Waker {
  listen(listener: (news: News) => void): void;
  tell(news: News): void;
}

export function createWaker(): Waker {
  const listeners: ((news: News) => void)[] = [];
  return {
    listen(listener) {
      listeners.push(listener);
    },
    tell(news) {
      for (const listener of listeners) listener(news);
    },
  };
}
