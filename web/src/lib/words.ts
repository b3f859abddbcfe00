import type { Gauge, State, Tier } from './api';

export const TIERS: readonly Tier[] = ['dedicated', 'local', 'pod', 'serverless'];

/** Where a deployment is on the map. */
export type Lane = Tier | 'idle' | 'stopped' | 'failed';

/** From the surface down. */
export const LANES: readonly { lane: Lane; what: string; warm: boolean }[] = [
  { lane: 'failed', what: 'the last start failed', warm: true },
  { lane: 'dedicated', what: 'your own instance', warm: true },
  { lane: 'local', what: 'on this machine', warm: true },
  { lane: 'pod', what: 'rented while it exists', warm: true },
  { lane: 'serverless', what: 'paid per second of work', warm: false },
  { lane: 'idle', what: 'at zero, wakes by itself', warm: false },
  { lane: 'stopped', what: 'by a person', warm: false },
];

/** The lane of a deployment. */
export function laneOf(gauge: Gauge): Lane {
  if (gauge.state === 'failed' || gauge.state === 'idle' || gauge.state === 'stopped') {
    return gauge.state;
  }
  if (gauge.state === 'deleting') return 'stopped';
  return gauge.tier ?? 'idle';
}

/** What a state means, in a few words. */
export const STATES: Record<State, string> = {
  idle: 'idle: at zero, the next request wakes it',
  starting: 'starting',
  running: 'running',
  draining: 'draining: finishes the work in hand',
  stopped: 'stopped by a person',
  failed: 'failed: the last start did not succeed',
  deleting: 'deleting: gone once its absence is confirmed',
};

const REASONS: Record<string, string> = {
  forced: 'a person forced this tier',
  dedicated: 'it has an instance of its own',
  local_fits: 'it fits on this machine',
  no_serverless: 'it has no serverless tier',
  pod_warm: 'its pod is warm and the rate is above the demote line',
  promote: 'the rate reached the promote line',
  below_promote: 'the rate is below the promote line',
  objective: 'its objective asks for a pod',
  idle: 'its pod stopped for want of work, and nothing has come since',
  no_pod: 'it has no pod tier',
  pod_booting: 'its pod boots; another tier serves meanwhile',
  no_capacity: 'no provider has capacity now',
  budget: 'the budget is spent',
  unobserved: 'the window is not full yet, so nothing is demoted',
  busy: 'requests are in hand, so nothing is demoted',
  hold: 'too soon after the last change',
  fits: 'it fits on this machine',
  no_memory: 'the GPU memory of this machine is taken',
  no_daemon: 'there is no Docker daemon here',
  backing_off: 'its last start failed',
};

/** A reason in plain words; one that we do not know as it is. */
export function because(reason: string): string {
  return REASONS[reason] ?? reason;
}

/** The rules in the order in which they are asked, and the reasons they give. */
export const RULES: readonly { name: string; asks: string; reasons: readonly string[] }[] = [
  { name: 'forced', asks: 'Did a person force a tier?', reasons: ['forced'] },
  { name: 'dedicated', asks: 'Is there an instance of its own?', reasons: ['dedicated'] },
  { name: 'local', asks: 'Does it fit on this machine?', reasons: ['local_fits'] },
  { name: 'only pods', asks: 'Has it no serverless tier?', reasons: ['no_serverless'] },
  {
    name: 'warm pod',
    asks: 'Is a pod warm, and the rate not below the demote line?',
    reasons: ['pod_warm', 'objective', 'busy', 'unobserved', 'hold', 'pod_booting'],
  },
  {
    name: 'rate',
    asks: 'Has the rate reached the promote line?',
    reasons: ['promote', 'below_promote', 'idle', 'no_pod', 'no_capacity', 'budget'],
  },
];
