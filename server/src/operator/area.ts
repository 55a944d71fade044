/** Puts the operator area together. */
import type { Area, Ground } from '../area.ts';
import type { Messaging } from '../messaging/messaging.ts';
import { paths } from '../paths.ts';
import { createOperator, type Operator } from './operator.ts';
import { operatorRoutes } from './routes.ts';

export function createOperatorArea(
  { store, sealer }: Ground,
  { events }: Messaging,
): Area & { readonly operator: Operator } {
  const operator = createOperator(store, events, sealer, (notice) => paths.operatorNotice.href({ notice }));
  return { operator, routes: operatorRoutes(operator) };
}
