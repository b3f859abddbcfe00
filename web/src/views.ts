import type { Component } from 'svelte';

type Page = Component<Record<string, never>>;

export interface View {
  /** Its word in the address. */
  word: string;
  title: string;
  /** What leads there from the keyboard, after `g`; none = not in the menu. */
  key?: string;
  load: () => Promise<{ default: Page }>;
}

export const VIEWS: readonly View[] = [
  { word: '', title: 'Tiers', key: 't', load: () => import('./views/Tiers.svelte') },
  {
    word: 'decisions',
    title: 'Decisions',
    key: 'd',
    load: () => import('./views/Decisions.svelte'),
  },
  { word: 'cost', title: 'Cost', key: 'm', load: () => import('./views/Cost.svelte') },
  {
    word: 'cold-starts',
    title: 'Cold starts',
    key: 'c',
    load: () => import('./views/ColdStarts.svelte'),
  },
  { word: 'requests', title: 'Requests', key: 'r', load: () => import('./views/Requests.svelte') },
  {
    word: 'providers',
    title: 'Providers',
    key: 'p',
    load: () => import('./views/Providers.svelte'),
  },
  { word: 'fleet', title: 'Fleet', key: 'f', load: () => import('./views/Fleet.svelte') },
  { word: 'deploy', title: 'Deploy', key: 'n', load: () => import('./views/Deploy.svelte') },
  { word: 'deployments', title: 'Deployment', load: () => import('./views/Deployment.svelte') },
];

const NOWHERE: View = {
  word: '?',
  title: 'Not found',
  load: () => import('./views/NotFound.svelte'),
};

export function viewOf(word: string): View {
  return VIEWS.find((view) => view.word === word) ?? NOWHERE;
}
