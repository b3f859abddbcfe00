import type { Page, Route } from 'playwright-core';

const WHEN = '2026-12-01T10:00:00.000Z';
const ROOT = '**/api/v1/fleet';

interface Letter {
  id: string;
  state: string;
  [field: string]: unknown;
}

/** The answers of a server with a shared fleet, as the page gets them. */
export class Fleet {
  letters: Letter[] = [];
  workers: unknown[] = [];
  queues: unknown[] = [];
  /** What the page asked for beside reading. */
  readonly asked: string[] = [];

  /** Answers what `page` asks of the fleet from now on. */
  async answer(page: Page): Promise<void> {
    await page.route(`${ROOT}/workers`, (route) => list(route, this.workers));
    await page.route(`${ROOT}/queues`, (route) => list(route, this.queues));
    await page.route(`${ROOT}/dead-letters**`, (route) => this.#letters(route));
    await page.route(`${ROOT}/dead-letters/**`, (route) => this.#letter(route));
  }

  /** A job that failed as `detail` says. */
  bury(id: string, kind: string, detail: string, why: string | null = null): void {
    this.letters.push({
      id,
      deployment: 'sdxl',
      class: why ? 'poison' : 'transient',
      fingerprint: 'f00d',
      cause: 'given_up',
      kind,
      detail,
      attempts: 3,
      state: 'open',
      outcome: null,
      replayable: why === null,
      not_replayable: why,
      payload: { bytes: detail.length, kept: true, encoding: 'text', content: detail },
      cut: ['header authorization'],
      first_seen: WHEN,
      last_seen: WHEN,
      changed_at: WHEN,
      failures: [{ worker: 'w1', kind, status: 500, detail }],
      request: { method: 'POST', target: `/v1/${detail}`, headers: [['x-note', detail]] },
    });
  }

  async #letters(route: Route): Promise<void> {
    const query = new URL(route.request().url()).searchParams;
    if (query.get('group')) return list(route, this.#groups());
    const state = query.get('state');
    await list(
      route,
      this.letters.filter((it) => !state || it.state === state),
    );
  }

  #groups(): unknown[] {
    const [first] = this.letters;
    if (!first) return [];
    const open = this.letters.filter((it) => it.state === 'open');
    return [
      {
        fingerprint: first.fingerprint,
        kind: first.kind,
        detail: first.detail,
        classes: ['transient', 'poison'],
        deployments: ['sdxl'],
        letters: this.letters.length,
        open: open.length,
        replayable: open.filter((it) => it.replayable).length,
        first_seen: WHEN,
        last_seen: WHEN,
      },
    ];
  }

  async #letter(route: Route): Promise<void> {
    const request = route.request();
    const [id, verb] = new URL(request.url()).pathname.split('/dead-letters/')[1]?.split('/') ?? [];
    const letter = this.letters.find((it) => it.id === id);
    if (request.method() === 'GET') return route.fulfill({ json: letter });
    this.asked.push(`${request.method()} ${id}${verb ? ` ${verb}` : ''}`);
    if (!letter) {
      const json = { fingerprint: 'f00d', replaying: 1, left: 1, pace_s: 1 };
      return route.fulfill({ status: 202, json });
    }
    letter.state = verb === 'replay' ? 'replayed' : 'discarded';
    return verb === 'replay'
      ? route.fulfill({ status: 202, json: letter })
      : route.fulfill({ status: 204 });
  }
}

function list(route: Route, items: unknown[]): Promise<void> {
  return route.fulfill({ json: { items, next: null } });
}

/** A worker that holds `models`. */
export function worker(name: string, models: string[], rate: number): unknown {
  const resident = models.map((deployment, i) => ({
    deployment,
    memory_mib: 4096,
    in_flight: i,
    idle_s: 30,
    load_s: 12,
    loading: false,
  }));
  return {
    name,
    incarnation: '1',
    state: 'ready',
    shape: 'gpu',
    age_s: 0.5,
    permits: 4,
    in_flight: 1,
    memory_mib: 24_576,
    free_mib: 24_576 - 4096 * models.length,
    resident,
    subscribed: models,
    loads: 12,
    evictions: 9,
    jobs: 300,
    load_rate: rate,
  };
}

/** A queue of `deployment`, and why no worker could serve it. */
export function queue(
  deployment: string,
  waiting: number,
  by: string[],
  unserved: string | null = null,
): unknown {
  const counts = { waiting, oldest_s: 4, running: 1 };
  return { deployment, ...counts, served_by: by, held_by: by, terms: {}, unserved };
}
