import { api, type Series, take } from './api';
import { live } from './live.svelte';
import { newest } from './newest';

export type Points = Series['points'];

/** Points that are kept on screen. */
const MOST = 3000;

/** How a deployment was: read once, then carried on by what is told live. */
export class History {
  points = $state.raw<Points>(empty());
  loaded = $state(false);
  #last = 0;
  #question = newest();

  constructor(
    readonly name: string,
    /** How far back, seconds. */
    readonly back: number,
  ) {}

  async load(): Promise<void> {
    const from = new Date(Date.now() - this.back * 1000).toISOString();
    const call = api.GET('/api/v1/deployments/{name}/series', {
      params: { path: { name: this.name }, query: { from } },
    });
    const isNewest = this.#question();
    const { points } = await take(call);
    if (!isNewest()) return;
    this.points = points;
    this.#last = this.points.at.at(-1) ?? 0;
    this.loaded = true;
  }

  /** Adds what is told now. */
  follow(): void {
    const gauge = live.gauges.get(this.name);
    const at = Math.floor(live.at);
    if (!this.loaded || !gauge || live.stale || at <= this.#last) return;
    this.#last = at;
    const first = at - this.back;
    const skip = Math.max(
      this.points.at.findIndex((time) => time >= first) - 1,
      this.points.at.length - MOST,
      0,
    );
    const with_ = <T>(column: readonly T[], next: T): T[] => [...column.slice(skip), next];
    const { points } = this;
    this.points = {
      at: with_(points.at, at),
      tier: with_(points.tier, gauge.tier),
      rps: with_(points.rps, gauge.rps),
      in_flight: with_(points.in_flight, gauge.in_flight),
      waiting: with_(points.waiting, gauge.waiting),
      p50_s: with_(points.p50_s, null),
      p95_s: with_(points.p95_s, null),
      ended: with_(points.ended, 0),
      failed: with_(points.failed, 0),
      usd_per_hour: with_(points.usd_per_hour, gauge.usd_per_hour),
    };
  }
}

function empty(): Points {
  return {
    at: [],
    tier: [],
    rps: [],
    in_flight: [],
    waiting: [],
    p50_s: [],
    p95_s: [],
    ended: [],
    failed: [],
    usd_per_hour: [],
  };
}
