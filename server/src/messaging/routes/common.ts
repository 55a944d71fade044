/** What the routes of messaging share. */
import type { Request } from '../../http/request.ts';
import { checkName } from '../names.ts';

export const AREA = 'Messaging';

export const nameOf = ({ parameters }: Request): string => checkName(parameters.name as string, 'destination name');

export const messageIdOf = ({ parameters }: Request): string =>
  checkName(parameters.message_id as string, 'message id');
