import { type ChildProcess, spawn } from 'node:child_process';

/**
 * What a test process starts must not outlive it, even when it is killed outright and can run no code of its own.
 * The guard is a small shell in a session of its own. It holds the reading end of a pipe from this process and
 * remembers the last line it was sent: the commands that clean up everything in use at that moment. The kernel closes
 * the pipe when this process ends, whatever the reason, and the guard then runs those commands.
 */
const GUARD_SCRIPT = `
trap '' INT TERM HUP QUIT PIPE
signal() { kill -"$1" "$2" 2>/dev/null; }
ended() {
  tries=0
  while kill -0 "$1" 2>/dev/null; do
    # Ended, and only not yet collected by process 1.
    case $(cat "/proc/$1/stat" 2>/dev/null) in *") Z "*) return ;; esac
    tries=$((tries + 1))
    if [ "$tries" -eq 100 ]; then kill -KILL "$1" 2>/dev/null; fi
    if [ "$tries" -ge 150 ]; then return; fi
    sleep 0.1
  done
}
last=
while IFS= read -r line; do last=$line; done
eval "$last"
`;

type Guarded =
  | { kind: 'process'; pid: number; signal: string }
  | { kind: 'mount'; path: string }
  | { kind: 'folder'; path: string };

const guarded = new Set<Guarded>();
let guard: ChildProcess | undefined;

/** Sends the signal to the process when this process ends, and kills it if it is still there after ten seconds. */
export function guardProcess(pid: number, signal: 'KILL' | 'QUIT' = 'KILL'): () => void {
  return add({ kind: 'process', pid, signal });
}

/** Removes the folder when this process ends, after the guarded processes have ended. */
export function guardFolder(path: string): () => void {
  return add({ kind: 'folder', path });
}

/** Unmounts what is mounted there when this process ends, after the guarded processes have ended. */
export function guardMount(path: string): () => void {
  return add({ kind: 'mount', path });
}

function add(entry: Guarded): () => void {
  guarded.add(entry);
  tell();
  return () => {
    if (guarded.delete(entry)) tell();
  };
}

function tell(): void {
  guard ??= startGuard();
  guard.stdin?.write(`${cleanUpCommands([...guarded])}\n`);
}

/** Signals go out first, so that all processes end side by side; folders go last, when nobody writes into them. */
function cleanUpCommands(entries: Guarded[]): string {
  const processes = entries.filter((entry) => entry.kind === 'process');
  const mounts = entries.filter((entry) => entry.kind === 'mount');
  const folders = entries.filter((entry) => entry.kind === 'folder');
  return [
    ...processes.map(({ signal, pid }) => `signal ${signal} ${pid}`),
    ...processes.map(({ pid }) => `ended ${pid}`),
    ...mounts.map(({ path }) => `umount -l ${quoted(path)} 2>/dev/null`),
    ...folders.map(({ path }) => `rm -rf ${quoted(path)}`),
    ':',
  ].join('; ');
}

function quoted(text: string): string {
  if (text.includes('\n')) throw new Error(`A path with a line break cannot be guarded: ${JSON.stringify(text)}`);
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function startGuard(): ChildProcess {
  // A session of its own: Ctrl-C in the terminal must not reach the guard before it has cleaned up.
  const child = spawn('/bin/sh', ['-c', GUARD_SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.unref();
  const pipe = child.stdin;
  pipe.on('error', () => {
    // The guard was killed: the next entry starts a new one, which is told everything.
    if (guard === child) guard = undefined;
  });
  if ('unref' in pipe && typeof pipe.unref === 'function') pipe.unref();
  return child;
}
