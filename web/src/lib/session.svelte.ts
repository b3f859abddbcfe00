import { api, base, onLoggedOut, wording } from './api';
import { live } from './live.svelte';

/** Whether somebody is logged in; the token itself is kept nowhere. */
class Session {
  state = $state<'asking' | 'in' | 'out' | 'unreachable'>('asking');

  constructor() {
    onLoggedOut(() => this.#left());
  }

  async ask(): Promise<void> {
    try {
      const { response } = await api.GET('/api/v1/session');
      if (response.ok) this.#entered();
      else this.#left();
    } catch {
      this.state = 'unreachable';
      setTimeout(() => void this.ask(), 1000);
    }
  }

  /** Logs in; what went wrong, or nothing. */
  async open(token: string): Promise<string | undefined> {
    try {
      const response = await fetch(`${base}/api/v1/session`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      });
      if (response.status === 401) return 'This is not the admin token.';
      if (!response.ok) return 'The server cannot log you in now.';
      this.#entered();
      return undefined;
    } catch (error) {
      return wording(error);
    }
  }

  async close(): Promise<void> {
    await api.DELETE('/api/v1/session').catch(() => undefined);
    this.#left();
  }

  #entered(): void {
    this.state = 'in';
    live.start();
  }

  #left(): void {
    live.stop();
    this.state = 'out';
  }
}

export const session = new Session();
