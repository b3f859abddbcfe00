import { base, type Gauge, type Gauges, loggedOut, type ServerEvent } from './api';
import { follow } from './sse';

/** Rates of the last so many seconds are remembered for the small curves. */
const REMEMBERED = 60;
const MOST_EVENTS = 300;
/** Gauges come each second; older than this they are shown as old, ms. */
const STALE_AFTER = 3_500;

/** What the server tells of itself, over one stream. */
class Live {
  /** Every deployment by name; a new map with each message. */
  gauges = $state.raw<ReadonlyMap<string, Gauge>>(new Map());
  /** The newest events, newest first. */
  events = $state.raw<readonly ServerEvent[]>([]);
  /** Whether all gauges have come once. */
  ready = $state(false);
  /** When the figures are from, ms since 1970 by this machine; 0 = never. */
  heard = $state(0);
  /** When the figures are from by the server's clock, seconds since 1970. */
  at = $state(0);
  /** Whether the figures are no longer of the present. */
  stale = $state(false);
  /** Goes on by itself, once a second: for ages. */
  now = $state(Date.now());

  /** All of them, as far as they have come. */
  #incoming: Map<string, Gauge> | undefined;
  #rates = new Map<string, number[]>();
  #lastId: string | null = null;
  #watchers = new Set<(event: ServerEvent) => void>();
  #stop: (() => void) | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;

  start(): void {
    if (this.#stop) return;
    this.#clock = setInterval(() => this.#tick(), 1000);
    this.#stop = follow(
      {
        url: () => `${base}/api/v1/events?gauges=true`,
        lastId: () => this.#lastId,
        message: ({ event, data, id }) => {
          if (event === 'gauges') this.#gauges(JSON.parse(data) as Gauges);
          else if (event === 'message') this.#event(JSON.parse(data) as ServerEvent);
          if (id) this.#lastId = id;
        },
        state: (state, status) => {
          if (state === 'refused' && status === 401) loggedOut();
        },
      },
      STALE_AFTER * 2,
    );
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    clearInterval(this.#clock);
    this.gauges = new Map();
    this.events = [];
    this.ready = false;
    this.#incoming = undefined;
    this.#lastId = null;
    this.#rates.clear();
  }

  /** Calls `watcher` with each event from now on. */
  watch(watcher: (event: ServerEvent) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** The rates of the last minute, oldest first. */
  rates(name: string): readonly number[] {
    return this.#rates.get(name) ?? [];
  }

  #tick(): void {
    this.now = Date.now();
    this.stale = this.heard > 0 && this.now - this.heard > STALE_AFTER;
  }

  #gauges(message: Gauges): void {
    if (message.all) this.#incoming = new Map();
    const gauges = this.#incoming ?? new Map(this.gauges);
    for (const gauge of message.items) gauges.set(gauge.name, gauge);
    for (const name of message.gone) gauges.delete(name);
    this.heard = Date.now();
    this.at = Date.parse(message.at) / 1000;
    this.stale = false;
    if (!message.more) {
      this.#incoming = undefined;
      this.#remember(gauges);
    } else if (this.ready) {
      // What is shown stays until the rest has come, too.
      return;
    }
    this.gauges = new Map(gauges);
    this.ready = true;
  }

  #remember(gauges: ReadonlyMap<string, Gauge>): void {
    for (const { name, rps } of gauges.values()) {
      const rates = this.#rates.get(name) ?? [];
      rates.push(rps);
      if (rates.length > REMEMBERED) rates.shift();
      this.#rates.set(name, rates);
    }
    for (const name of this.#rates.keys()) if (!gauges.has(name)) this.#rates.delete(name);
  }

  #event(event: ServerEvent): void {
    // A stream that was resumed may tell one again.
    if (this.events.some((it) => it.id === event.id)) return;
    this.events = [event, ...this.events].slice(0, MOST_EVENTS);
    for (const watcher of this.#watchers) watcher(event);
  }
}

export const live = new Live();
