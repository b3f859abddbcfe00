import { api, type Instance, take } from './api';
import { live } from './live.svelte';
import { newest } from './newest';
import { soon } from './soon';

/** Events of instances come in bursts; one call answers all of a moment's, ms. */
const SETTLE = 300;
/** Prices may change without an event, ms. */
const EVERY = 30_000;

/** What exists, kept up to date for as long as the view that made it lives. */
export function watchInstances(): { readonly items: readonly Instance[] | undefined } {
  let items = $state.raw<readonly Instance[] | undefined>();
  const question = newest();

  async function load() {
    const isNewest = question();
    try {
      const answer = await take(api.GET('/api/v1/instances'));
      if (isNewest()) items = answer.items;
    } catch {
      // The stream says that the server is away; the next event asks again.
    }
  }
  $effect(() => {
    void load();
    const every = setInterval(load, EVERY);
    const again = soon(load, SETTLE);
    const stop = live.watch((event) => {
      if (/^(instance|deployment)\./.test(event.kind)) again();
    });
    return () => {
      clearInterval(every);
      again.stop();
      stop();
    };
  });
  return {
    get items() {
      return items;
    },
  };
}
