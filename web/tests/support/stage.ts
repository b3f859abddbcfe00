import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { Console, launch } from './browser';
import type { Server } from './server';

/** What the tests of a file share: a server, a browser, and the page of the one that runs. */
export class Stage {
  #server: Server | undefined;
  #browser: Browser | undefined;
  #open: Console | undefined;

  private constructor() {}

  /**
   * A stage for the tests of this file, around what `serve` starts. After each test its
   * page is closed, `clean` makes the server as it was, and nothing may have gone wrong
   * in the page.
   */
  static of(
    serve: () => Promise<Server>,
    clean: (server: Server) => Promise<void> = async () => {},
  ): Stage {
    const stage = new Stage();
    beforeAll(async () => {
      [stage.#server, stage.#browser] = await Promise.all([serve(), launch()]);
    });
    afterAll(async () => {
      await stage.#browser?.close();
      await stage.#server?.clear();
    });
    afterEach(async () => {
      const wrong = stage.#open?.wrong ?? [];
      await stage.#open?.close();
      stage.#open = undefined;
      await clean(stage.server);
      expect(wrong).toEqual([]);
    });
    return stage;
  }

  get server(): Server {
    if (!this.#server) throw new Error('no server has been started yet');
    return this.#server;
  }

  get browser(): Browser {
    if (!this.#browser) throw new Error('no browser has been started yet');
    return this.#browser;
  }

  /** Opens the console, logged in, for the test that runs; the stage closes it. */
  async open(options: BrowserContextOptions = {}): Promise<Console> {
    this.#open = await Console.open(this.browser, this.server, options);
    return this.#open;
  }
}
