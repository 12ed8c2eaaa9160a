import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{apps,libs,tools}/**/*.test.ts'],
          exclude: ['**/node_modules/**', '**/tests/**'],
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{apps,libs,tools}/**/tests/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
