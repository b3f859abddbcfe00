/** The two rates between which tiers change, requests a second. */
export interface Lines {
  promote: number;
  demote: number;
}
export type Line = keyof Lines;

/** The least rate that a line is moved to. */
const LEAST = 0.001;

/** A rate that people can read and type: three digits. */
export function rounded(rps: number): number {
  return Number(rps.toPrecision(3));
}

/** `lines` with one of them at `rps`, as near as the other one allows. */
export function moved(lines: Lines, line: Line, rps: number): Lines {
  const { promote, demote } = lines;
  const wanted = rounded(Math.max(rps, LEAST));
  if (line === 'promote') return { promote: Math.max(wanted, above(demote)), demote };
  return { promote, demote: Math.min(wanted, below(promote)) };
}

/** A little more, or less, of a rate, as a key asks for; none for other keys. */
export function stepped(rps: number, key: string): number | undefined {
  const factor = {
    ArrowUp: 1.05,
    ArrowRight: 1.05,
    ArrowDown: 1 / 1.05,
    ArrowLeft: 1 / 1.05,
    PageUp: 1.5,
    PageDown: 1 / 1.5,
  }[key];
  if (factor === undefined) return undefined;
  const next = rounded(rps * factor);
  // Zero has no twentieth.
  return next === rps ? rps + Math.sign(factor - 1) * LEAST : next;
}

function above(rps: number): number {
  return rounded(rps * 1.01 + LEAST);
}

function below(rps: number): number {
  return Math.max(rounded((rps - LEAST) / 1.01), 0);
}
