/** The header fields of answers, with what they tell. The description of the service is made from this table. */
export const answerFields = {
  'X-Request-Id': 'names this request in logs and problems',
  Link: 'the links of the resource (RFC 8288): absolute URIs with their relations',
  'Link-Template': 'links with a part to fill in (RFC 9652)',
  Location: 'the address of what was made, or of what was asked for',
  'Content-Location': 'the address of what the content is',
  ETag: 'the version of the resource, for If-Match and If-None-Match',
  'Message-Id': 'the last part of the address of the message',
  'Message-State': 'available, delayed, leased, acknowledged, dead or expired',
  'Message-Posted': 'when the message was posted (RFC 3339, UTC)',
  'Delivery-Count': 'how often the message has been handed out, this time included',
  'Message-Dead-Reason': 'why a message lies in a dead-letter queue',
  'Preference-Applied': 'which preferences of the request were honoured (RFC 7240)',
  'Retry-After': 'seconds after which to try again',
  Allow: 'the methods of the resource',
  'Accept-Post': 'the media types that can be posted here',
} as const;

export type AnswerField = keyof typeof answerFields;
