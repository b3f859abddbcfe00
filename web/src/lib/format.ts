/** A rate, as `2.4` or `0.03`. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond < 0.01) return '<0.01';
  if (perSecond < 1) return perSecond.toFixed(2);
  if (perSecond < 100) return perSecond.toFixed(1);
  return Math.round(perSecond).toLocaleString('en');
}

/** A time span, as `180 ms`, `2.4 s` or `3 min`. */
export function span(seconds: number | null | undefined): string {
  if (seconds == null) return '–';
  if (seconds === 0) return '0 s';
  if (seconds < 0.0095) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** Dollars, with as many places as say something. */
export function dollars(usd: number | null | undefined): string {
  if (usd == null) return '–';
  const places = usd === 0 || usd >= 0.095 ? 2 : 4;
  return `$${usd.toLocaleString('en', { minimumFractionDigits: places, maximumFractionDigits: places })}`;
}

/** Memory, as `512 MiB` or `11 GiB`. */
export function memory(mib: number): string {
  if (mib < 1024) return `${mib} MiB`;
  const gib = mib / 1024;
  return `${gib < 9.95 ? gib.toFixed(1) : Math.round(gib)} GiB`;
}

/** How long ago a time was, as `12 s`. */
export function age(time: string, now: number): string {
  return span(Math.max(0, (now - Date.parse(time)) / 1000));
}

/** The time of day of a moment. */
export function clock(time: string | number): string {
  return new Date(time).toLocaleTimeString('en-GB');
}

/** Day and time of day of a moment. */
export function date(time: string | number): string {
  return new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
}

/** The `share`-th part of some figures, by the nearest rank. */
export function percentile(figures: readonly number[], share: number): number | null {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

/** One word of a shell's command line. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
