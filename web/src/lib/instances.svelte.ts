import { api, type Instance, take } from './api';
import { live } from './live.svelte';

/** Events of instances come in bursts; one call answers all of a moment's, ms. */
const SETTLE = 300;
/** Prices may change without an event, ms. */
const EVERY = 30_000;

/** What exists, kept up to date for as long as the view that made it lives. */
export function watchInstances(): { readonly items: readonly Instance[] | undefined } {
  let items = $state.raw<readonly Instance[] | undefined>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function load() {
    try {
      items = (await take(api.GET('/api/v1/instances'))).items;
    } catch {
      // The stream says that the server is away; the next event asks again.
    }
  }
  $effect(() => {
    void load();
    const every = setInterval(load, EVERY);
    const stop = live.watch((event) => {
      if (!event.kind.startsWith('instance.') && !event.kind.startsWith('deployment.')) return;
      clearTimeout(timer);
      timer = setTimeout(load, SETTLE);
    });
    return () => {
      clearInterval(every);
      clearTimeout(timer);
      stop();
    };
  });
  return {
    get items() {
      return items;
    },
  };
}
