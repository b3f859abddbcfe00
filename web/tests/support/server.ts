import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const TOKEN = 'tc_test_token-of-the-browser-tests';

function binary(): string {
  const given = process.env.THERMOCLINE_BIN;
  const target = process.env.CARGO_TARGET_DIR ?? resolve(import.meta.dirname, '../../../target');
  const path = given ?? join(target, 'debug', 'thermocline');
  if (!existsSync(path)) throw new Error(`there is no ${path}: build it, or set THERMOCLINE_BIN`);
  return path;
}

async function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
  body: any;
}

/** Waits until `is` is true; an error of it counts as not yet. */
export async function until(is: () => Promise<boolean>, limit = 30_000): Promise<void> {
  const end = Date.now() + limit;
  let last: unknown;
  while (Date.now() < end) {
    try {
      if (await is()) return;
    } catch (error) {
      last = error;
      if (error instanceof Error && error.message.startsWith('it ended')) throw error;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it did not happen within ${limit} ms: ${String(last ?? is)}`);
}

/** The processes of the simulated clouds of a folder. */
function simulated(folder: string): number[] {
  const files = readdirSync(folder).filter((name) => /^thermocline-sim-.*\.json$/.test(name));
  return files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).pid as number);
}

/** A server of ours, with its files in a folder of its own. */
export class Server {
  #child: ChildProcess | undefined;
  #log = '';

  private constructor(
    readonly folder: string,
    readonly requests: number,
    readonly admin: number,
  ) {}

  /** `thermocline serve` with a simulated cloud, and more configuration. */
  static async serve(more = ''): Promise<Server> {
    const server = new Server(
      mkdtempSync(join(tmpdir(), 'thermocline-web-')),
      await freePort(),
      await freePort(),
    );
    const lines = [
      `[request]\nlisten = "127.0.0.1:${server.requests}"`,
      `[admin]\nlisten = "127.0.0.1:${server.admin}"`,
      `[local]\ndocker = "unix:///nowhere/docker.sock"`,
      `[providers.toy]\nkind = "sim"\npod_boot = "600ms"\ncold_start = "100ms"\nservice_time = "5ms"`,
    ];
    writeFileSync(join(server.folder, 'thermocline.toml'), `${lines.join('\n')}\n${more}\n`);
    await server.start();
    return server;
  }

  /** `thermocline demo`, at twice the speed. */
  static async demo(): Promise<Server> {
    const server = new Server(
      mkdtempSync(join(tmpdir(), 'thermocline-web-')),
      await freePort(),
      await freePort(),
    );
    const listen = [
      '--request-listen',
      `127.0.0.1:${server.requests}`,
      '--admin-listen',
      `127.0.0.1:${server.admin}`,
    ];
    await server.start(['demo', '--speed', '2', ...listen]);
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.admin}`;
  }

  /** Starts it, where it does not run. */
  async start(args = ['serve']): Promise<void> {
    if (this.#child && this.#child.exitCode === null) return;
    const env = { ...process.env, THERMOCLINE_ADMIN_TOKEN: TOKEN };
    const child = spawn(binary(), args, {
      cwd: this.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-4000);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    this.#child = child;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${this.#log}`);
      return (await fetch(`${this.url}/readyz`)).ok;
    });
    const page = await (await fetch(`${this.url}/console/`)).text();
    if (page.includes('not part of this build')) {
      throw new Error(`${binary()} has no console: build it again, after \`make web\``);
    }
  }

  /** Ends it as a signal would, and waits until it has ended. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    const hard = setTimeout(() => child.kill('SIGKILL'), 25_000);
    await ended;
    clearTimeout(hard);
  }

  /** Ends it and its simulated cloud, and removes its files. */
  async clear(): Promise<void> {
    await this.stop();
    for (const pid of simulated(this.folder)) {
      try {
        process.kill(pid, 'SIGTERM');
      } catch {
        // It has ended by itself.
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A call of the admin API. */
  async call(method: string, path: string, body?: unknown): Promise<Answer> {
    const init: RequestInit = { method, headers: { authorization: `Bearer ${TOKEN}` } };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(`${this.url}/api/v1${path}`, init);
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }

  async deploy(spec: unknown): Promise<void> {
    const { status, body } = await this.call('POST', '/deployments', spec);
    if (status !== 201) throw new Error(JSON.stringify(body));
  }

  /** Deletes every deployment, and waits until they are gone. */
  async empty(): Promise<void> {
    const left = async () => (await this.call('GET', '/deployments')).body.items;
    for (const { name } of await left()) await this.call('DELETE', `/deployments/${name}`);
    await until(async () => (await left()).length === 0);
  }

  /** A request to a deployment; its status. */
  async request(name: string): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.requests}/d/${name}/`);
    await response.arrayBuffer();
    return response.status;
  }
}
