import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { serviceNames, serviceRole } from '@waymark/database'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const SCRIPT = path.join(ROOT, 'deploy/docker/secrets.sh')
const text = readFileSync(path.join(ROOT, 'docker-compose.yml'), 'utf8')

type Service = {
  image?: string
  environment?: Record<string, string | number>
  mem_limit?: string
  logging?: { options: Record<string, string> }
  healthcheck?: { test?: string[] }
  restart?: string
  user?: string
  ports?: string[]
  volumes?: string[]
  depends_on?: Record<string, { condition: string }>
}
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> }
const entries = Object.entries(services)

/** The secret files that a service must read. */
const filesOf = ({ environment = {} }: Service): string[] =>
  Object.values(environment)
    .map(String)
    .filter((value) => value.startsWith('/run/secrets/'))

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs secrets.sh with a folder in place of the volumes. */
const run = (args: string[] = [], env: Record<string, string> = {}): string =>
  execFileSync('bash', [SCRIPT, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SECRETS_DIR: folder, ...env },
    stdio: 'pipe',
  })

describe('docker-compose.yml', () => {
  it('publishes every port on the loopback interface by default', () => {
    const ports = entries.flatMap(([, { ports = [] }]) => ports)
    expect(ports.length).toBeGreaterThan(4)
    for (const port of ports)
      expect(port).toMatch(/^(127\.0\.0\.1|\$\{WAYMARK_BIND_ADDRESS:-127\.0\.0\.1\}):/)
  })

  it('contains no secret and no default for one', () => {
    for (const { environment = {} } of Object.values(services)) {
      for (const [name, value] of Object.entries(environment)) {
        if (!/PASSWORD|SECRET/.test(name)) continue
        if (name.endsWith('_FILE')) expect(value).toMatch(/^\/run\/secrets\//)
        else expect(value).toMatch(/^\$\{[A-Z0-9_]+:-\}$/)
      }
    }
    expect(text).not.toMatch(/:\/\/[^/\s]*:[^/\s@]*@/)
  })

  it('mounts a secret only in the services that read it, and creates it before they start', () => {
    const writers = (services.secrets?.volumes ?? []).filter((volume) => volume.startsWith('secrets-'))
    for (const [name, service] of entries) {
      if (name === 'secrets') continue
      const { volumes = [], depends_on = {} } = service
      const reads = filesOf(service).length > 0
      const mounts = volumes.filter((volume) => volume.includes('/run/secrets'))
      expect(mounts, name).toEqual(reads ? [`secrets-${name}:/run/secrets:ro`] : [])
      if (!reads) continue
      expect(writers).toContain(`secrets-${name}:/secrets/${name}`)
      const before = Object.keys(depends_on)
      expect(before.includes('secrets') || before.includes('setup'), name).toBe(true)
    }
    expect(services.postgres?.depends_on?.secrets?.condition).toBe('service_completed_successfully')
  })

  it('names only files that secrets.sh creates for that service', () => {
    run()
    const made = readdirSync(folder).flatMap((reader) =>
      readdirSync(path.join(folder, reader)).map((name) => `${reader}/${name}`),
    )
    const read = entries.flatMap(([name, service]) =>
      filesOf(service).map((file) => file.replace('/run/secrets', name)),
    )
    expect(made.toSorted()).toEqual(read.toSorted())
  })
})

describe('the containers of docker-compose.yml', () => {
  const production = parse(readFileSync(path.join(ROOT, 'docker-compose.production.yml'), 'utf8'), {
    merge: true,
  }) as { services: Record<string, Service> }
  const all = [...entries, ['tls', production.services.tls ?? {}] as const]

  it('have a memory limit and rotate their logs', () => {
    for (const [name, { mem_limit, logging }] of all) {
      expect([name, mem_limit]).toEqual([
        name,
        expect.stringMatching(/^(\d+m|\$\{[A-Z]+_MEMORY:-\d+[mg]\})$/),
      ])
      expect([name, logging?.options]).toEqual([name, { 'max-size': '20m', 'max-file': '5' }])
    }
  })

  it('report their health, unless they end by themselves', () => {
    const dockerfile = readFileSync(path.join(ROOT, 'deploy/docker/Dockerfile'), 'utf8')
    expect(dockerfile).toContain('HEALTHCHECK')
    for (const [name, { image, healthcheck, restart }] of all) {
      const ends = restart !== 'unless-stopped'
      const reports = healthcheck?.test !== undefined || (!ends && image?.startsWith('waymark/'))
      expect([name, Boolean(reports)]).toEqual([name, !ends])
    }
  })

  it('write and read the demo project as the same user', () => {
    expect(services.setup?.user).toBe('1000:1000')
    expect(services.demo?.user).toBe(services.setup?.user)
  })

  it('get every limit and quota of the configuration where it is read', () => {
    const documented = readFileSync(path.join(ROOT, 'docs/configuration.md'), 'utf8')
    const names = new Set(
      [...documented.matchAll(/`((?:LIMIT|QUOTA)_[A-Z_]+)`/g)].map(([, name]) => `${name}`),
    )
    expect(names.size).toBeGreaterThan(20)
    for (const name of names) {
      const reader =
        name === 'LIMIT_EMAILS_PER_HOUR'
          ? 'email-consumer'
          : name.startsWith('QUOTA_')
            ? 'management-api'
            : ''
      for (const service of reader === '' ? serviceNames : [reader])
        expect([name, services[service]?.environment?.[name]]).toEqual([name, `\${${name}:-}`])
    }
  })

  it('get the address of the mail server and the GeoIP file where they are used', () => {
    const having = (name: string) =>
      entries.filter(([, { environment = {} }]) => name in environment).map(([service]) => service)
    expect(having('SMTP_URL')).toEqual(['email-consumer'])
    const located = ['ingest-gateway', 'enrichment-consumer', 'link-redirector']
    expect(having('GEOIP_DATABASE')).toEqual(located)
    for (const name of located) expect(services[name]?.volumes).toContain('./deploy/docker/geoip:/geoip:ro')
  })

  it('routes the hosts of link domains to link-redirector, and all other hosts as before', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Compose replaces it
    expect(services.proxy?.environment).toEqual({ LINK_DOMAINS: '${WAYMARK_LINK_DOMAINS:-_}' })
    const content = readFileSync(path.join(ROOT, 'deploy/docker/link-domains.conf'), 'utf8')
    expect(content).toContain('server_name HOSTS;')
    expect(content).toContain('set $service link-redirector;')
    expect(content).not.toContain('location /s/')
    const nginx = readFileSync(path.join(ROOT, 'deploy/docker/nginx.conf'), 'utf8')
    // The first server of a port answers the hosts that no server names.
    expect(nginx.indexOf('include /tmp/link-domains.conf;')).toBeGreaterThan(nginx.indexOf('listen 8080;'))
  })

  it('have TLS in front, a mail server and no demo project in production', () => {
    const { tls, setup } = production.services
    expect(tls?.ports).toEqual(['80:80', '443:443', '443:443/udp'])
    expect(tls?.environment?.WAYMARK_URL).toMatch(/^\$\{WAYMARK_URL:\?/)
    expect(production.services['email-consumer']?.environment?.SMTP_URL).toMatch(/^\$\{WAYMARK_SMTP_URL:\?/)
    expect(setup?.environment).toEqual({ DEMO_BASE_URL: '', DEMO_FILE: '' })
    const caddyfile = readFileSync(path.join(ROOT, 'deploy/docker/Caddyfile'), 'utf8')
    const port = /reverse_proxy proxy:(\d+)/.exec(caddyfile)?.[1]
    // Forwarded headers are believed on this port, so no other host may reach it.
    const nginx = readFileSync(path.join(ROOT, 'deploy/docker/nginx.conf'), 'utf8')
    expect(nginx).toContain(`${port} $http_x_forwarded_for;`)
    expect(nginx).toContain(`listen ${port};`)
    for (const [, { ports = [] }] of all) for (const one of ports) expect(one).not.toMatch(`:${port}$`)
  })
})

describe('the database roles in docker-compose.yml', () => {
  it("exist for each service with a password from the setup, and only the setup has the owner's", () => {
    for (const name of serviceNames) {
      const { environment = {} } = services[name] ?? {}
      const file = `/run/secrets/${name}-database-password`
      expect(environment.DATABASE_USERNAME).toBe(serviceRole(name))
      expect(environment.DATABASE_PASSWORD_FILE).toBe(file)
      const variable = `SERVICE_ROLE_PASSWORD_${name.toUpperCase().replaceAll('-', '_')}_FILE`
      expect(services.setup?.environment?.[variable]).toBe(file)
    }
    const ofOwner = entries.filter(([, service]) =>
      filesOf(service).includes('/run/secrets/database-password'),
    )
    expect(ofOwner.map(([name]) => name).toSorted()).toEqual(['postgres', 'setup'])
  })
})

describe('nginx.conf', () => {
  const proxy = readFileSync(path.join(ROOT, 'deploy/docker/nginx.conf'), 'utf8')

  it('does not route /internal/', () => {
    expect(/location \/internal\/ \{([^}]*)\}/.exec(proxy)?.[1]).not.toContain('proxy_pass')
    expect(proxy).toMatch(/location \/internal\/ \{ .*return 404/)
  })
})

describe('secrets.sh', () => {
  const secret = (reader: string, name: string) => readFileSync(path.join(folder, reader, name), 'utf8')

  it('creates random secrets, the same for all services that read one', () => {
    run()
    for (const reader of ['setup', 'ingest-gateway', 'persistence-consumer', 'management-api'])
      expect(secret(reader, 'clickhouse-password')).toBe(secret('clickhouse', 'clickhouse-password'))
    expect(secret('postgres', 'database-password')).toMatch(/^[0-9a-f]{48}\n$/)
    expect(secret('email-consumer', 'mail-secret')).toMatch(/^[0-9a-f]{48}\n$/)
    expect(secret('management-api', 'erasure-secret')).toMatch(/^[0-9a-f]{48}\n$/)
    expect(secret('email-consumer', 'mail-secret')).not.toBe(secret('postgres', 'database-password'))
    expect(secret('setup', 'database-password')).toBe(secret('postgres', 'database-password'))
    expect(existsSync(path.join(folder, 'postgres/mail-secret'))).toBe(false)
    const ofGateway = secret('ingest-gateway', 'ingest-gateway-database-password')
    expect(secret('setup', 'ingest-gateway-database-password')).toBe(ofGateway)
    expect(secret('setup', 'coupon-service-database-password')).not.toBe(ofGateway)
    expect(statSync(path.join(folder, 'postgres/database-password')).mode & 0o777).toBe(0o444)
  })

  it('keeps them at the next start, and restores a copy that is missing', () => {
    run()
    const before = secret('postgres', 'database-password')
    rmSync(path.join(folder, 'setup/database-password'))
    run()
    expect(secret('postgres', 'database-password')).toBe(before)
    expect(secret('setup', 'database-password')).toBe(before)
  })

  it("takes the owner's password, which earlier versions gave to every app, away from them", () => {
    mkdirSync(path.join(folder, 'ingest-gateway'))
    writeFileSync(path.join(folder, 'ingest-gateway/database-password'), 'old')
    run()
    expect(readdirSync(path.join(folder, 'ingest-gateway')).toSorted()).toEqual([
      'clickhouse-password',
      'ingest-gateway-database-password',
    ])
  })

  it("renews the password of one service's role", () => {
    run()
    const before = secret('setup', 'email-consumer-database-password')
    run(['renew', 'email-consumer-database-password'])
    const after = secret('setup', 'email-consumer-database-password')
    expect(after).toMatch(/^[0-9a-f]{48}\n$/)
    expect(after).not.toBe(before)
    expect(secret('email-consumer', 'email-consumer-database-password')).toBe(after)
  })

  it('uses secrets of the environment', () => {
    run([], { POSTGRES_PASSWORD: 'chosen', MAIL_SECRET: 'm'.repeat(32) })
    expect(secret('setup', 'database-password')).toBe('chosen\n')
    expect(secret('email-consumer', 'mail-secret')).toBe(`${'m'.repeat(32)}\n`)
  })

  it('renews a secret, and keeps the previous mail secret so that links in sent emails work', () => {
    run()
    const password = secret('postgres', 'database-password')
    const first = secret('email-consumer', 'mail-secret').trim()
    run(['renew', 'mail-secret'])
    const [second, kept] = secret('email-consumer', 'mail-secret').trim().split(',')
    expect(second).toMatch(/^[0-9a-f]{48}$/)
    expect(second).not.toBe(first)
    expect(kept).toBe(first)
    expect(secret('postgres', 'database-password')).toBe(password)
    run(['renew', 'database-password'])
    expect(secret('postgres', 'database-password')).not.toBe(password)
    expect(secret('setup', 'database-password')).toBe(secret('postgres', 'database-password'))
  })

  it('refuses to renew what the environment sets, and what it does not know', () => {
    expect(() => run(['renew', 'mail-secret'], { MAIL_SECRET: 'm'.repeat(32) })).toThrow(/MAIL_SECRET/)
    expect(() => run(['renew', 'password'])).toThrow(/database-password.*mail-secret/s)
    expect(() => run(['print'])).toThrow(/renew/)
  })

  it('prints what apps outside of containers need', () => {
    run()
    expect(run(['env'])).toBe(
      `DATABASE_PASSWORD=${secret('postgres', 'database-password')}CLICKHOUSE_PASSWORD=${secret('clickhouse', 'clickhouse-password')}MAIL_SECRET=${secret('email-consumer', 'mail-secret')}ERASURE_SECRET=${secret('management-api', 'erasure-secret')}`,
    )
  })
})

describe('create-secrets.sh of the local overlay', () => {
  const script = path.join(ROOT, 'deploy/k8s/overlays/local/create-secrets.sh')
  const overlay = path.dirname(script)

  /**
   * Runs it with a fake kubectl that records its arguments and returns the Secrets `found`, with an owner's `password`.
   */
  const create = (found: string[], password = '') => {
    const bin = path.join(folder, 'bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(
      path.join(bin, 'kubectl'),
      `#!/usr/bin/env bash
echo "$*" >>'${folder}/calls'
case "$*" in
  *jsonpath*) printf '%s' '${Buffer.from(password).toString('base64')}' ;;
  ${found.map((name) => `*'get secret ${name} '*) echo 'secret/${name}' ;;`).join('\n')}
  *'create --filename -'*) cat >>'${folder}/secrets.yaml' ;;
esac
`,
      { mode: 0o755 },
    )
    execFileSync('bash', [script], { env: { PATH: `${bin}:${process.env.PATH}` }, stdio: 'pipe' })
    return readFileSync(path.join(folder, 'calls'), 'utf8')
  }
  type Secret = { metadata: { name: string }; stringData: Record<string, string> }
  const created = (): Record<string, Record<string, string>> =>
    Object.fromEntries(
      parseAllDocuments(readFileSync(path.join(folder, 'secrets.yaml'), 'utf8'))
        .map((document) => document.toJS() as Secret | null)
        .filter((secret) => secret !== null)
        .map(({ metadata, stringData }) => [metadata.name, stringData]),
    )

  it('creates the namespace and Secrets with random values', () => {
    expect(create([])).toMatch(/apply --filename .*namespace\.yaml/)
    const secrets = created()
    const ofServices = serviceNames.map((name) => `waymark-database-${name}`)
    expect(Object.keys(secrets).toSorted()).toEqual(
      ['waymark-clickhouse', 'waymark-connections', 'waymark-setup', ...ofServices].toSorted(),
    )
    expect(Object.keys(secrets['waymark-connections'] ?? {})).toEqual(['MAIL_SECRET', 'ERASURE_SECRET'])
    const { DATABASE_PASSWORD: ofOwner, ...passwords } = secrets['waymark-setup'] ?? {}
    for (const name of serviceNames) {
      const { DATABASE_USERNAME, DATABASE_PASSWORD } = secrets[`waymark-database-${name}`] ?? {}
      expect(DATABASE_USERNAME).toBe(serviceRole(name))
      expect(passwords[`SERVICE_ROLE_PASSWORD_${name.toUpperCase().replaceAll('-', '_')}`]).toBe(
        DATABASE_PASSWORD,
      )
    }
    const ofClickHouse = secrets['waymark-clickhouse']?.CLICKHOUSE_PASSWORD
    const drawn = [
      ofOwner,
      ofClickHouse,
      ...Object.values(passwords),
      ...Object.values(secrets['waymark-connections'] ?? {}),
    ]
    for (const value of drawn) expect(value).toMatch(/^[0-9a-f]{48}$/)
    expect(new Set(drawn).size).toBe(serviceNames.length + 4)
    expect(readFileSync(path.join(overlay, 'postgres.yaml'), 'utf8')).toContain(
      'secretKeyRef: { name: waymark-setup, key: DATABASE_PASSWORD }',
    )
  })

  it('keeps the password of an existing database, and removes it from the apps', () => {
    expect(create(['waymark-connections'], 'before')).toContain('/data/DATABASE_PASSWORD')
    expect(created()['waymark-setup']?.DATABASE_PASSWORD).toBe('before')
    expect(created()['waymark-connections']).toBeUndefined()
  })

  it('does not change existing Secrets', () => {
    expect(create(['waymark-clickhouse', 'waymark-connections', 'waymark-setup'])).not.toContain('create')
    expect(existsSync(path.join(folder, 'secrets.yaml'))).toBe(false)
  })

  it('adds the password of ClickHouse to an installation without one', () => {
    create(['waymark-connections', 'waymark-setup'])
    expect(Object.keys(created())).toEqual(['waymark-clickhouse'])
  })
})
