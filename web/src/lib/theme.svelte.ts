type Choice = 'dark' | 'light' | 'system';

/** Dark or light, as chosen, or as the machine is. */
class Theme {
  choice = $state<Choice>('system');
  #system = matchMedia('(prefers-color-scheme: light)');
  #systemIsLight = $state(this.#system.matches);

  constructor() {
    const kept = localStorage.getItem('theme');
    if (kept === 'dark' || kept === 'light') this.choice = kept;
    this.#system.addEventListener('change', (event) => {
      this.#systemIsLight = event.matches;
    });
  }

  get now(): 'dark' | 'light' {
    if (this.choice !== 'system') return this.choice;
    return this.#systemIsLight ? 'light' : 'dark';
  }

  flip(): void {
    this.choice = this.now === 'dark' ? 'light' : 'dark';
    localStorage.setItem('theme', this.choice);
  }
}

export const theme = new Theme();
