import createClient from 'openapi-fetch';
import type { components, paths } from './schema';

type Schemas = components['schemas'];
export type Tier = Schemas['Tier'];
export type Gauge = Schemas['Gauge'];
export type Gauges = Schemas['Gauges'];
export type State = Gauge['state'];
export type Deployment = Schemas['Deployment'];
export type Instance = Schemas['Instance'];
export type Transition = Schemas['Transition'];
export type Decision = Schemas['Decision'];
export type Simulation = Schemas['Simulation'];
export type Series = Schemas['Series'];
export type ColdStart = Schemas['ColdStart'];
export type EndedRequest = Schemas['EndedRequest'];
export type OngoingRequest = Schemas['OngoingRequest'];
export type Costs = Omit<Schemas['Costs'], 'next'>;
export type Provider = Schemas['Provider'];
export type Offer = Schemas['Offer'];
export type Worker = Schemas['Worker'];
export type Queue = Schemas['Queue'];
export type DeadLetter = Schemas['DeadLetter'];
export type WholeDeadLetter = Schemas['WholeDeadLetter'];
export type DeadLetterGroup = Schemas['DeadLetterGroup'];
export type FailureClass = Schemas['FailureClass'];
export type Problem = Schemas['Problem'];
export type Spec = Schemas['Spec'];
/** An event; beside what is named, each kind has fields of its own. */
export type ServerEvent = Schemas['Event'] & { readonly [field: string]: unknown };

/** Where the admin plane is: one folder above this page. */
export const base = new URL('..', document.baseURI).href.replace(/\/$/, '');

const listeners = new Set<() => void>();

/** Calls `listener` whenever the server says that nobody is logged in. */
export function onLoggedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function loggedOut(): void {
  for (const listener of listeners) listener();
}

export const api = createClient<paths>({ baseUrl: base });
api.use({
  onResponse({ request, response }) {
    if (response.status === 401 && !request.url.endsWith('/session')) loggedOut();
  },
});

/** A call that did not do what was asked. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem | undefined,
  ) {
    super(problem?.detail ?? 'The server did not answer as it should.');
  }
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The answer's document; throws `Refused` when it is an error. */
export async function take<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch {
    throw new Refused(0, { detail: 'The server cannot be reached.' } as Problem);
  }
  if (answer.response.ok) return answer.data as T;
  throw new Refused(answer.response.status, answer.error as Problem | undefined);
}

/** What to show of anything that was thrown. */
export function wording(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
