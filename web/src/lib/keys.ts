interface Actions {
  open: () => void;
  help: () => void;
  go: (key: string) => void;
}

/** How long the second key of `g …` may take, ms. */
const PAIR = 1200;

/** The keys that work everywhere but where text is typed. */
export function keys(actions: Actions): (event: KeyboardEvent) => void {
  let began = 0;
  return (event) => {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && key === 'k') {
      event.preventDefault();
      actions.open();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.timeStamp - began < PAIR) {
      began = 0;
      actions.go(key);
    } else if (key === 'g') {
      began = event.timeStamp;
    } else if (key === '?') {
      actions.help();
    } else if (key === '/') {
      const search = document.querySelector<HTMLElement>('[data-search]');
      if (search) event.preventDefault();
      search?.focus();
    }
  };
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
