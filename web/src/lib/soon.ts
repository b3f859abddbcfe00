/** A wish that is granted once for many: `act` runs `pause` ms after the first of
 * them, so that a storm of wishes neither repeats it nor puts it off for good. */
export interface Soon {
  (): void;
  stop(): void;
}

export function soon(act: () => unknown, pause = 250): Soon {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wish = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      act();
    }, pause);
  };
  return Object.assign(wish, { stop: () => clearTimeout(timer) });
}
