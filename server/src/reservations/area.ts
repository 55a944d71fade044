/** Puts the reservations area together. */
import type { Area, Ground } from '../area.ts';
import { createTransactionPaths } from '../transactions/addresses.views.ts';
import { readTransactionState } from '../transactions/state-document.ts';
import type { LocalParticipant } from '../transactions/usecases/participants.ts';
import { createReservationPaths } from './addresses.views.ts';
import { createReservations } from './reservations.ts';
import { reservationRoutes } from './routes.ts';

const ASK_EVERY = 5000;

export function createReservationArea({
  store,
  sealer,
  outbound,
}: Ground): Area & { readonly participant: LocalParticipant } {
  const reservations = createReservations({
    ...{ store, sealer, outbound, readTransactionState },
    ...createTransactionPaths(sealer),
    ...createReservationPaths(),
  });
  return {
    participant: reservations.participant,
    routes: reservationRoutes(reservations),
    duties: {
      'ask for outcomes elsewhere': async () => {
        await reservations.resolveInDoubt();
        return ASK_EVERY;
      },
    },
  };
}
