/** Where we are: the words of `#/a/b`, decoded. */
class Route {
  words = $state.raw<readonly string[]>(read());

  constructor() {
    addEventListener('hashchange', () => {
      this.words = read();
    });
  }

  get view(): string {
    return this.words[0] ?? '';
  }
}

function read(): string[] {
  const words = location.hash.replace(/^#\/?/, '').split('/');
  return words.filter((word) => word !== '').map(decode);
}

function decode(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export const route = new Route();

/** The address of a view. */
export function to(...words: (string | number)[]): string {
  return `#/${words.map((word) => encodeURIComponent(word)).join('/')}`;
}

export function go(...words: (string | number)[]): void {
  location.hash = to(...words);
}
