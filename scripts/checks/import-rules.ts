/**
 * Who may import what. Each file gets the first role that fits its path; what it imports at run time has to fit one of
 * the role's `may` patterns, what it imports as a type only one of `may` or `mayTypes`. `*` stands for anything within
 * a path segment, `**` for anything, `role:NAME` for all files of a role, `npm:NAME` and `node:NAME` for packages and
 * built-in modules, `{a,b}` for either.
 */
export type Role = { name: string; files: string[]; may: string[]; mayTypes?: string[]; reason: string };

/** What only some may import, whatever their role says. */
export type Restriction = { target: string[]; onlyFrom: string[]; reason: string };

const AREAS = '{messaging,operator,forwarding,transactions,reservations,consumers}';
const ROOT_FILES = 'server/src/{problems,kinds,ids,config,log,slips}.ts';
/** Pure readers that rules may use: they know nothing of a request. */
const PURE = [
  'server/src/{problems,kinds,slips}.ts',
  'server/src/http/{links,xml}.ts',
  'server/src/store/store.ts',
  'node:crypto',
];
const PACKAGES = ['node:**', 'npm:**'];

export const ROLES: Role[] = [
  {
    name: 'test',
    files: ['**/*.test.ts', '**/*.cases.ts', '**/*.fixtures.ts', 'server/test/**'],
    may: ['**', ...PACKAGES],
    reason: 'A test may look at everything its neighbours can see; the restrictions below still hold.',
  },
  {
    name: 'composition',
    files: ['server/src/{server,main,ground}.ts'],
    may: ['server/src/**', ...PACKAGES],
    reason: 'One place puts the parts together.',
  },
  {
    name: 'area',
    files: [`server/src/${AREAS}/area.ts`, 'server/src/area.ts'],
    may: ['role:routes', 'role:usecases', 'role:duties', 'role:views', 'role:rules', 'role:http', 'role:foundation'],
    mayTypes: ['server/src/**'],
    reason: 'An area puts itself together from what it is given; it neither opens nor starts what others share.',
  },
  {
    name: 'foundation',
    files: [ROOT_FILES],
    may: ['role:foundation', ...PACKAGES],
    mayTypes: ['server/src/**'],
    reason: 'Everything stands on these files, so they stand on nothing of the service.',
  },
  {
    name: 'queries',
    files: [`server/src/${AREAS}/{queries,*.queries}.ts`, `server/src/${AREAS}/queries/**`],
    may: [
      'role:queries',
      'role:rules',
      'server/src/nodes/queries.ts',
      'server/src/store/{store,dialect,limits}.ts',
      'server/src/problems.ts',
    ],
    mayTypes: ['server/src/**'],
    reason: 'SQL goes through the seam of the store and knows no engine, no HTTP and no use case.',
  },
  {
    name: 'routes',
    files: [`server/src/${AREAS}/{routes,*.routes}.ts`, `server/src/${AREAS}/routes/**`],
    may: ['role:routes', 'role:usecases', 'role:views', 'role:rules', 'role:http', 'role:foundation', 'node:**'],
    mayTypes: ['server/src/**', 'npm:**'],
    reason: 'A route reads the request, calls the use case and chooses the view; it never touches the store.',
  },
  {
    name: 'views',
    files: [`server/src/${AREAS}/{views,*.views}.ts`, `server/src/${AREAS}/views/**`],
    may: ['role:views', 'role:rules', 'role:http', 'server/src/problems.ts'],
    mayTypes: ['server/src/**', 'npm:**'],
    reason: 'A view is a pure function from state to body and links.',
  },
  {
    name: 'usecases',
    files: [
      'server/src/messaging/messaging.ts',
      'server/src/operator/operator.ts',
      'server/src/forwarding/forwarding.ts',
      'server/src/transactions/transactions.ts',
      'server/src/reservations/reservations.ts',
      'server/src/consumers/consumers.ts',
      `server/src/${AREAS}/*.usecases.ts`,
      `server/src/${AREAS}/usecases/**`,
    ],
    may: [
      'role:usecases',
      'role:queries',
      'role:rules',
      'role:foundation',
      'server/src/store/{store,dialect}.ts',
      'server/src/http/outbound*.ts',
      'server/src/http/outbound/**',
      'node:**',
    ],
    mayTypes: ['server/src/**', 'npm:**'],
    reason: 'A use case is transaction, query, rule, query, announce; it knows nothing of requests and answers.',
  },
  {
    name: 'rules',
    files: [`server/src/${AREAS}/**`],
    may: ['role:rules', ...PURE],
    mayTypes: ['server/src/**'],
    reason: 'Rules are pure: they can be read, tested and trusted without anything around them.',
  },
  {
    name: 'service',
    files: ['server/src/service/**'],
    may: ['role:service', 'role:http', 'role:views', 'role:foundation', 'node:**'],
    mayTypes: ['server/src/**'],
    reason: 'The root and the description speak of all areas through their routes and views.',
  },
  {
    name: 'nodes',
    files: ['server/src/nodes/**'],
    may: ['role:nodes', 'server/src/problems.ts', 'server/src/store/{store,dialect}.ts', 'node:**'],
    reason: 'Who is alive is the ground on which areas own things; it knows nothing of what they own.',
  },
  {
    name: 'duties',
    files: ['server/src/duties/**'],
    may: [
      'role:duties',
      'role:usecases',
      'role:queries',
      'role:rules',
      'role:foundation',
      'role:nodes',
      'server/src/store/{store,dialect}.ts',
      'node:**',
    ],
    mayTypes: ['server/src/**', 'npm:**'],
    reason: 'A duty is a caller of use cases like a route, with a clock in place of a request.',
  },
  {
    name: 'store',
    files: ['server/src/store/**'],
    may: ['role:store', 'role:foundation', ...PACKAGES],
    mayTypes: ['server/src/**'],
    reason: 'The store keeps what it is given and knows no rules.',
  },
  {
    name: 'http',
    // The route table belongs to HTTP, too: patterns and hrefs come from it.
    files: ['server/src/http/**', 'server/src/paths.ts'],
    may: ['role:http', 'role:foundation', ...PACKAGES],
    mayTypes: ['server/src/**'],
    reason: 'The HTTP ground serves all areas and knows none.',
  },
  {
    name: 'command',
    files: ['cli/**'],
    may: ['role:command', 'server/src/{main,config}.ts', 'role:client', ...PACKAGES],
    reason: 'The command starts the service or talks to one through the client.',
  },
  {
    name: 'client',
    files: ['client/**'],
    may: ['role:client'],
    reason: 'The client runs in Node, browsers, Deno and Bun alike: fetch only, nothing to install.',
  },
  {
    name: 'console',
    files: ['console/**'],
    may: ['role:console', 'role:client', ...PACKAGES],
    reason: 'The console is one more client and proves that links suffice.',
  },
  {
    name: 'conformance',
    files: ['conformance/**'],
    may: ['role:conformance', 'testing/http.ts', 'role:client', ...PACKAGES],
    reason: 'The suite takes a base URL and sees what any stranger sees.',
  },
  {
    name: 'testing',
    files: ['testing/**'],
    may: ['role:testing', ...PACKAGES],
    reason: 'The ground of the tests meets Waypost as a process and over HTTP only.',
  },
  {
    name: 'workshop',
    files: ['scripts/**', 'bench/**'],
    may: ['scripts/**', 'bench/**', 'testing/**', 'client/**', 'conformance/**', 'server/src/**', ...PACKAGES],
    reason: 'Tools may look at everything.',
  },
];

export const RESTRICTIONS: Restriction[] = [
  {
    target: ['server/src/store/{sqlite,postgres}.ts', 'server/src/store/{sqlite,postgres}/**', 'node:sqlite', 'npm:pg'],
    onlyFrom: [
      'server/src/store/**',
      'testing/**',
      'bench/**',
      'scripts/**',
      'server/test/**',
      '**/*.test.ts',
      '**/*.cases.ts',
    ],
    reason: 'only the store knows which engine runs',
  },
  {
    target: ['testing/**'],
    onlyFrom: [
      'server/test/**',
      'testing/**',
      'scripts/**',
      'bench/**',
      'conformance/**',
      '**/*.test.ts',
      '**/*.cases.ts',
      '**/*.fixtures.ts',
    ],
    reason: 'the ground of the tests is no part of the product',
  },
  {
    target: ['bench/**', 'conformance/**'],
    onlyFrom: ['bench/**', 'conformance/**', 'scripts/**'],
    reason: 'the product does not depend on what measures and judges it',
  },
  {
    target: ['server/**'],
    onlyFrom: ['server/**', 'cli/**', 'scripts/**', 'bench/**'],
    reason: 'everybody else meets the service over HTTP',
  },
];
