/** Operator notices as documents. */
import type { Document } from '../http/document.ts';
import type { Link } from '../http/links.ts';
import { timeOf } from '../http/times.ts';
import { paths } from '../paths.ts';
import type { Notice } from './notice.ts';

export function noticeDocument(notice: Notice, publicId: string): Document {
  const { kind, title, detail, created, acknowledged, subject, actions } = notice;
  return {
    name: 'operator-notice',
    fields: {
      id: publicId,
      kind,
      title,
      detail,
      created: timeOf(created),
      ...(acknowledged === undefined
        ? {}
        : { acknowledged: { at: timeOf(acknowledged.at), by: acknowledged.by, why: acknowledged.why } }),
    },
    attributes: ['id'],
    links: noticeLinks(publicId, subject, actions, acknowledged !== undefined),
    version: acknowledged === undefined ? 'open' : 'acknowledged',
  };
}

function noticeLinks(notice: string, subject: string, actions: Notice['actions'], isAcknowledged: boolean): Link[] {
  const links: Link[] = [
    { rel: 'self', href: paths.operatorNotice.href({ notice }) },
    { rel: 'about', href: subject },
  ];
  if (isAcknowledged) return links;
  for (const action of actions) links.push({ ...action, method: 'POST' });
  links.push({ rel: 'acknowledge', href: paths.acknowledgeNotice.href({ notice }), method: 'POST' });
  return links;
}
