import type { Contender } from './benchmark.ts'
import type { Servers } from './servers.ts'

type Redemptions = { clients: number; projectId: string; poolId: string; codes: number }

const SCRIPT = '/tmp/redeem.sql'
const VALUE_BYTES = 600
/** More rounds than needed; each uses its own codes. */
const ROUNDS = 40

/** The statements of a redemption without a person or an idempotency key, as the coupon service sends them. */
const script = ({ clients, projectId, poolId, codes }: Redemptions): string => `
\\set i :i + 1
\\set n :base + :client_id * ${Math.floor(codes / clients / ROUNDS)} + :i
SELECT c.id AS coupon, gen_random_uuid() AS redemption, c.status, p.status, p.discount, n.redeemed, p.rules, p.stackable,
    p.budget_amount, p.budget_currency, n.granted FROM coupon.coupons c
  JOIN coupon.pools p ON p.id = c.pool_id JOIN coupon.pool_counts n ON n.pool_id = c.pool_id
  WHERE c.project_id = '${projectId}' AND c.code = 'BARE' || lpad((:n)::text, 12, '0') \\gset
BEGIN\\; SET LOCAL lock_timeout = 2000;
UPDATE coupon.coupons c SET status = 'redeemed', redeemed_at = now() FROM coupon.pools p
  WHERE c.id = ':coupon' AND p.id = c.pool_id AND c.status IN ('available', 'assigned') AND p.status = 'ready'
  AND (p.starts_at IS NULL OR p.starts_at <= now()) AND (p.expires_at IS NULL OR p.expires_at > now())
  RETURNING p.per_profile_limit, p.max_redemptions, p.budget_amount;
INSERT INTO coupon.redemptions (id, project_id, pool_id, coupon_id, event_id, metadata, redeemed_at)
  VALUES (':redemption', '${projectId}', '${poolId}', ':coupon', 'wm:redemption:' || ':redemption', '{}', now());
INSERT INTO ingest.outbox (lane, topic, key, value) VALUES
  ('coupons-bare', 'coupons.redeemed.v1', ':coupon', repeat('x', ${VALUE_BYTES})),
  ('coupons-bare', 'ingest.records.v1', ':redemption', repeat('x', ${VALUE_BYTES}));
UPDATE coupon.pool_counts SET redeemed = redeemed + 1 WHERE pool_id = '${poolId}' RETURNING redeemed;
COMMIT;
`

/** Runs a script with pgbench in the container of its server, with variables of the round. */
const pgbench = async (
  { container, database }: Servers['postgres'],
  {
    clients,
    seconds,
    text,
    variables = '',
    mode = 'simple',
  }: { clients: number; seconds: number; text: string; variables?: string; mode?: 'simple' | 'prepared' },
) => {
  await container.copyContentToContainer([{ content: text, target: SCRIPT }])
  const command = `pgbench -U postgres -n -M ${mode} -c ${clients} -j 1 -T ${seconds} ${variables} -f ${SCRIPT} ${database}`
  const { output, exitCode } = await container.exec(['bash', '-c', command])
  const perSecond = Number(/tps = ([\d.]+)/.exec(output)?.[1])
  if (exitCode !== 0 || !(perSecond > 0)) throw new Error(`pgbench failed: ${output}`)
  return { perSecond, cpuMicros: null, p99Ms: null, peakRssMb: null }
}

/** pgbench redeeming distinct codes. */
export const startPgbench = (postgres: Servers['postgres'], redemptions: Redemptions): Contender => {
  const { clients, codes } = redemptions
  let rounds = 0
  return {
    run: (seconds) => {
      // Each round has its own codes, and within it each client.
      const base = Math.floor((codes / ROUNDS) * rounds++)
      const variables = `-D i=0 -D base=${base}`
      return pgbench(postgres, { clients, seconds, text: script(redemptions), variables })
    },
    stop: async () => {},
  }
}

/** What qualifying a cart reads of the automatic promotions of a project, and of the person. */
const readScript = (projectId: string, userId: string): string => `
SELECT p.id, p.name, p.kind, p.status, p.prefix, p.discount, p.starts_at, p.expires_at, p.per_profile_limit,
    p.max_redemptions, n.redeemed, p.rules, p.stackable, p.priority, p.budget_amount, p.budget_currency, n.granted
  FROM coupon.pools p JOIN coupon.pool_counts n ON n.pool_id = p.id
  WHERE p.project_id = '${projectId}' AND p.kind = 'automatic' AND p.status = 'ready' ORDER BY p.id;
SELECT p.traits FROM ingest.identities i JOIN ingest.profiles p ON p.id = i.profile_id
  WHERE i.project_id = '${projectId}' AND i.kind = 'user' AND i.value = '${userId}';
`

/** pgbench reading the promotions of a project and a person. */
export const startPgbenchReads = (
  postgres: Servers['postgres'],
  { clients, projectId, userId }: { clients: number; projectId: string; userId: string },
): Contender => ({
  run: (seconds) =>
    pgbench(postgres, { clients, seconds, text: readScript(projectId, userId), mode: 'prepared' }),
  stop: async () => {},
})
