import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Kept {
  id: string;
  key: string;
  owner: string;
}

/**
 * A provider whose words are a trap. It refuses every start but those of the
 * deployment `stuck`, which it refuses to delete for as long as `refuses`.
 */
export class Adapter {
  refuses = true;
  #server: HttpServer;
  #kept = new Map<string, Kept>();

  private constructor(readonly words: string) {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const [status, answer] = this.#answer(request.method ?? '', request.url ?? '', body);
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer));
      });
    });
  }

  static async start(words: string): Promise<Adapter> {
    const adapter = new Adapter(words);
    await new Promise<void>((done) => adapter.#server.listen(0, '127.0.0.1', done));
    return adapter;
  }

  #answer(method: string, url: string, body: string): [number, unknown] {
    const refused = (status: number, code: string): [number, unknown] => [
      status,
      { status, code, detail: this.words },
    ];
    const [path, query] = url.split('?');
    const word = path?.split('/')[3] ?? '';
    if (path === '/v1/capabilities') {
      return [200, { protocol: 1, name: 'trap', version: '1', tiers: ['pod'], prices: true }];
    }
    if (path === '/v1/offers') {
      const price = { vram_mib: 1024, usd_per_hour: 1, available: true };
      return [200, { offers: [{ id: this.words, gpu: this.words, region: this.words, ...price }] }];
    }
    if (method === 'PUT') {
      const asked = JSON.parse(body) as { owner: string; deployment: string };
      if (asked.deployment !== 'stuck') return refused(422, 'invalid');
      this.#kept.set(word, { id: word, key: word, owner: asked.owner });
      return [201, this.#instance(word)];
    }
    if (method === 'DELETE') {
      if (this.refuses) return refused(403, 'auth');
      return this.#kept.delete(word) ? [202, {}] : refused(404, 'not_found');
    }
    if (query !== undefined || path === '/v1/instances') {
      const instances = [...this.#kept.keys()].map((id) => this.#instance(id));
      return [200, { instances, next: null, complete: true }];
    }
    return this.#kept.has(word) ? [200, this.#instance(word)] : refused(404, 'not_found');
  }

  #instance(id: string): unknown {
    const address = { url: this.url, headers: {} };
    const told = { state: 'ready', address, usd_per_hour: 1, detail: '' };
    return { ...this.#kept.get(id), ...told };
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
