/** Times in bodies and fields: RFC 3339, UTC. */
export const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
