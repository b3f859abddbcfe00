import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    environment: 'node',
    fileParallelism: false,
    testTimeout: 45_000,
    // As for the other tests: a busy machine gets a second try.
    retry: 1,
    hookTimeout: 60_000,
  },
});
