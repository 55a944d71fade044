/** Addresses of reservations' transactional states, made and read back. */
import { paths } from '../paths.ts';
import type { ReservationKind } from './reservation.ts';
import type { ReservationOptions } from './reservations.ts';

const patterns = (['airline', 'hotel'] as const).map((kind) => ({
  kind,
  pattern: new RegExp(`^${paths.transactionState[kind].template.replace('{reservation}', '([0-9a-z]+)')}$`),
}));

export function createReservationPaths(): Pick<ReservationOptions, 'statePath' | 'ofStatePath'> {
  return {
    statePath: (kind: ReservationKind, word: string) => paths.transactionState[kind].href({ reservation: word }),
    ofStatePath(path) {
      for (const { kind, pattern } of patterns) {
        const word = pattern.exec(path)?.[1];
        if (word !== undefined) return { kind, word };
      }
      return undefined;
    },
  };
}
