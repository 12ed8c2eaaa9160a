import { createPool, migrate } from '@waymark/database'
import { CONTAINER_START_MS, images, makeCertificate, newContainer, services } from '@waymark/testing'
import { type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../src/config.ts'
import { databaseConfig } from '../src/stores-config.ts'
import { databaseUrl } from '../src/stores-options.ts'

const PASSWORD = 'a/secret#?'

describe.skipIf(!services)('PostgreSQL that requires TLS', () => {
  let container: StartedTestContainer
  let certificate: Awaited<ReturnType<typeof makeCertificate>>
  let env: Record<string, string>

  beforeAll(async () => {
    certificate = await makeCertificate()
    // The server takes a key only when no other user may read it.
    const owned = `install -o postgres -g postgres -m 600 /tls/tls.key /tls/tls.crt /var/lib/postgresql/
      exec docker-entrypoint.sh postgres -c ssl=on -c ssl_cert_file=/var/lib/postgresql/tls.crt \
        -c ssl_key_file=/var/lib/postgresql/tls.key -c hba_file=/tls/hba.conf`
    container = await newContainer(images.postgres)
      .withEnvironment({ POSTGRES_PASSWORD: PASSWORD })
      .withCopyContentToContainer([
        { content: certificate.cert, target: '/tls/tls.crt' },
        { content: certificate.key, target: '/tls/tls.key' },
        {
          content: 'local all all trust\nhostssl all all all scram-sha-256\n',
          target: '/tls/hba.conf',
          mode: 0o644,
        },
      ])
      .withEntrypoint(['bash', '-ec', owned])
      .withExposedPorts(5432)
      .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
      .withStartupTimeout(CONTAINER_START_MS)
      .start()
    env = {
      DATABASE_URL: `postgres://localhost:${container.getMappedPort(5432)}/postgres`,
      DATABASE_USERNAME: 'postgres',
      DATABASE_PASSWORD: PASSWORD,
    }
  })
  afterAll(async () => {
    await container?.stop({ timeout: 0 })
    await certificate?.remove()
  })

  const urlFor = (more: Record<string, string>) =>
    databaseUrl(readConfig(databaseConfig, { ...env, ...more }))
  const encrypted = async (more: Record<string, string>): Promise<boolean> => {
    const pool = createPool({ url: urlFor(more), max: 1, applicationName: 'test', onError: () => {} })
    try {
      const { rows } = await pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
      return rows[0].ssl
    } finally {
      await pool.end()
    }
  }

  it('is connected with every encrypting mode', async () => {
    const ca = { DATABASE_TLS_CA_FILE: certificate.certFile }
    expect(await encrypted({ DATABASE_TLS_MODE: 'require' })).toBe(true)
    expect(await encrypted({ DATABASE_TLS_MODE: 'verify-ca', ...ca })).toBe(true)
    expect(await encrypted({ DATABASE_TLS_MODE: 'verify-full', ...ca })).toBe(true)
  })

  it('is refused without TLS or without its certificate', async () => {
    await expect(encrypted({})).rejects.toThrow('no encryption')
    await expect(encrypted({ DATABASE_TLS_MODE: 'verify-full' })).rejects.toThrow('self-signed')
  })

  it('is migrated', async () => {
    const url = urlFor({ DATABASE_TLS_MODE: 'verify-full', DATABASE_TLS_CA_FILE: certificate.certFile })
    expect((await migrate(url)).length).toBeGreaterThan(0)
  })
})
