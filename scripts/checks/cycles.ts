/**
 * One circle for each knot of a directed graph, as the list of its members along the way. Members of one strongly
 * connected part that is larger than one node, or has an edge to itself, cannot be loaded in any order that suits all.
 */
export function cycles(edges: [from: string, to: string][]): string[][] {
  const next = new Map<string, string[]>();
  for (const [from, to] of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const finished = new Set<string>();
  const found: string[][] = [];
  for (const start of [...next.keys()].sort()) {
    const circle = circleFrom(start, next, finished);
    if (circle) found.push(circle);
  }
  return found;
}

/** Depth first; a step back onto the present path closes a circle. What was finished once leads to no new one. */
function circleFrom(start: string, next: Map<string, string[]>, finished: Set<string>): string[] | undefined {
  const path: string[] = [];
  let circle: string[] | undefined;
  const visit = (node: string): void => {
    if (finished.has(node)) return;
    const at = path.indexOf(node);
    if (at !== -1) {
      circle ??= path.slice(at);
      return;
    }
    path.push(node);
    for (const neighbour of next.get(node) ?? []) visit(neighbour);
    path.pop();
    finished.add(node);
  };
  visit(start);
  return circle;
}
