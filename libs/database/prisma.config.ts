import { defineConfig } from 'prisma/config'

// Only the Prisma CLI reads this file. `generate` needs no database, so DATABASE_URL may be missing.
const url = process.env.DATABASE_URL

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(url === undefined ? {} : { datasource: { url } }),
})
