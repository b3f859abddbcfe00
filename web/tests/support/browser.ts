import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Server, TOKEN } from './server';

const SHOTS = resolve(import.meta.dirname, '../../artefacts');

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-quic', '--disable-background-networking'],
  });
}

/** A page of the console that remembers what went wrong in it. */
export class Console {
  readonly wrong: string[] = [];

  private constructor(
    readonly page: Page,
    readonly server: Server,
  ) {}

  /** Opens it, logged in. */
  static async open(
    browser: Browser,
    server: Server,
    options: BrowserContextOptions = {},
  ): Promise<Console> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 860 },
      colorScheme: 'dark',
      reducedMotion: 'reduce',
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const console = new Console(page, server);
    page.on('pageerror', (error) => console.wrong.push(error.message));
    page.on('console', (message) => {
      // A call that is refused is no mistake of the page.
      const refused = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !refused) console.wrong.push(message.text());
    });
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        window.console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    await page.goto(`${server.url}/console/`);
    await console.logIn();
    return console;
  }

  async logIn(): Promise<void> {
    await this.page.getByLabel('Admin token').fill(TOKEN);
    await this.page.getByRole('button', { name: 'Log in' }).click();
    await this.page.getByText('Live', { exact: true }).waitFor();
  }

  /** Goes to a view by its address. */
  async go(path: string): Promise<void> {
    await this.page.evaluate((hash) => {
      location.hash = hash;
    }, `#/${path}`);
    await this.page.locator('main').waitFor();
  }

  /** Keeps a picture for people. */
  async shot(name: string): Promise<void> {
    mkdirSync(SHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
  }

  /** The card of a deployment within a lane. */
  card(name: string, lane?: string) {
    const within = lane ? this.page.locator(`[data-lane="${lane}"]`) : this.page;
    return within.locator(`[data-name="${name}"]`);
  }

  /** That people with any senses and tools can use what is shown. */
  async accessible(): Promise<void> {
    const { violations } = await new AxeBuilder({ page: this.page }).analyze();
    const serious = violations.filter((it) => it.impact === 'serious' || it.impact === 'critical');
    const told = serious.map((it) => `${it.id}: ${it.nodes.map((node) => node.html).join(' | ')}`);
    expect(told).toEqual([]);
  }

  /** That nothing is cut off or hangs over at this width. */
  async fits(): Promise<void> {
    const over = await this.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(over).toBeLessThanOrEqual(0);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

/** How long `happens` takes, ms. */
export async function timed(happens: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await happens();
  return performance.now() - began;
}
