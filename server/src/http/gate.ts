/** Holds requests back that come before the service is there to answer them. */
import type { Exchange } from './protocol/exchange.ts';
import type { Dispatch } from './router.ts';

export interface Gate {
  readonly dispatch: Dispatch;
  /** From now on `dispatch` gets what comes, and what has come so far, in its order. */
  open(dispatch: Dispatch): void;
}

export function createGate(): Gate {
  const waiting: Exchange[] = [];
  let behind: Dispatch = (exchange) => void waiting.push(exchange);
  return {
    dispatch: (exchange) => behind(exchange),
    open(dispatch) {
      behind = dispatch;
      for (const exchange of waiting.splice(0)) dispatch(exchange);
    },
  };
}
