import { api, Refused, type Spec, take } from './api';
import { lineOf, type Mistake, read } from './yaml';

/** What became, or would become, of a specification. */
export interface Applied {
  created: boolean;
  changes: readonly string[];
  name: string;
}

/** Applies a specification, or says what that would change; mistakes with their lines. */
export async function apply(text: string, dryRun: boolean): Promise<Applied | Mistake[]> {
  const { document, mistakes } = read(text);
  if (mistakes.length > 0) return mistakes;
  const body = { items: [document as Spec], dry_run: dryRun };
  try {
    const answer = await take(api.PUT('/api/v1/deployments', { body }));
    const applied = answer.items[0];
    if (applied) return applied;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const errors = error.problem?.errors ?? [];
    if (errors.length > 0) return errors.map((it) => placed(text, it));
    return [{ field: '', message: error.message, line: 1 }];
  }
  return [{ field: '', message: 'The server did not say what became of it.', line: 1 }];
}

function placed(text: string, error: { field: string; message: string }): Mistake {
  const field = error.field.replace(/^items\[\d+\]\.?/, '');
  return { field, message: error.message, line: lineOf(text, field) };
}
