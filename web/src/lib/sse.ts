/** One message of an event stream. */
export interface Message {
  event: string;
  data: string;
  id: string | null;
}

/** Splits a stream of text into messages (HTML Living Standard, 9.2.6). */
export class Parser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id: string | null = null;

  push(text: string): Message[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    const messages: Message[] = [];
    for (const line of lines) {
      const message = this.#line(line);
      if (message) messages.push(message);
    }
    return messages;
  }

  #line(line: string): Message | undefined {
    if (line === '') return this.#end();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id') this.#id = value;
    return undefined;
  }

  #end(): Message | undefined {
    const message = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id };
    const empty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    this.#id = null;
    return empty ? undefined : message;
  }
}

export interface Listener {
  /** The path and query. */
  url: () => string;
  /** What to resume after; null = from where the server likes. */
  lastId?: () => string | null;
  message: (message: Message) => void;
  state: (state: 'connecting' | 'open' | 'lost' | 'refused', status?: number) => void;
}

/** Silence after which a connection is given up, ms: the server speaks more often. */
const SILENCE = 20_000;
const LONGEST_PAUSE = 4_000;

/** Follows an event stream and resumes it whenever it breaks, until told to stop. */
export function follow(listener: Listener, silence = SILENCE): () => void {
  let stopped = false;
  let current: AbortController | undefined;
  let pause = 250;

  async function once(): Promise<void> {
    const abort = new AbortController();
    current = abort;
    let timer = setTimeout(() => abort.abort(), silence);
    try {
      const id = listener.lastId?.();
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (id) headers['last-event-id'] = id;
      const response = await fetch(listener.url(), { headers, signal: abort.signal });
      if (!response.ok || !response.body) {
        listener.state('refused', response.status);
        return;
      }
      listener.state('open');
      pause = 250;
      const parser = new Parser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), silence);
        for (const message of parser.push(value)) listener.message(message);
      }
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      listener.state('connecting');
      await once().catch(() => undefined);
      if (stopped) return;
      listener.state('lost');
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  void run();
  return () => {
    stopped = true;
    current?.abort();
  };
}
