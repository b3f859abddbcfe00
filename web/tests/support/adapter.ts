import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider that refuses every start, and says so in words that are a trap. */
export class Adapter {
  #server: HttpServer;

  private constructor(server: HttpServer) {
    this.#server = server;
  }

  static async start(detail: string): Promise<Adapter> {
    const server = createServer((request, response) => {
      const url = request.url ?? '';
      const send = (status: number, body: unknown) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      };
      request.resume();
      if (url.startsWith('/v1/capabilities')) {
        send(200, { protocol: 1, name: 'trap', version: '1', tiers: ['pod'], prices: true });
      } else if (url.startsWith('/v1/offers')) {
        const offer = { id: detail, gpu: detail, vram_mib: 1024, usd_per_hour: 1, region: detail };
        send(200, { offers: [{ ...offer, available: true }] });
      } else if (request.method === 'PUT') {
        send(422, { status: 422, code: 'invalid', detail });
      } else if (url.startsWith('/v1/instances?') || url === '/v1/instances') {
        send(200, { instances: [], next: null, complete: true });
      } else {
        send(404, { status: 404, code: 'not_found', detail });
      }
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return new Adapter(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
