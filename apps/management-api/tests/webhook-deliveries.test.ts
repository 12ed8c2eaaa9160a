import type { ProjectRole } from '@waymark/contracts/project-role'
import { services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listOfDeliveries } from '../src/webhooks/delivery-queries.ts'
import { type Browser, type Management, startManagement } from './start-management.ts'

/** Most deliveries are of the audit log and delivered. */
const DELIVERIES = 20_000
const INSERT = `
  INSERT INTO webhook.deliveries (id, project_id, webhook_id, topic, message_key, payload, status)
  SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, $2,
    CASE WHEN n % 4000 = 0 THEN 'conversion' WHEN n % 4000 = 1 THEN 'event' ELSE 'audit' END, gen_random_uuid(), '{}',
    CASE WHEN n % 2000 = 0 THEN 'failed' ELSE 'delivered' END
  FROM generate_series(1, $3::int) AS n`

describe.skipIf(!services)('the deliveries of a webhook', () => {
  let management: Management
  let path: string
  let webhookId: string
  let projectId: string
  const browsers = new Map<ProjectRole, Browser>()

  beforeAll(async () => {
    management = await startManagement()
    const owner = await management.register()
    projectId = owner.account.projects[0]?.id ?? ''
    const webhook = await management.db.prisma.webhook.create({
      data: {
        id: uuidv7(),
        projectId,
        topics: ['event', 'audit'],
        eventNames: [],
        status: 'paused',
        url: 'https://shop.example/hook',
        secret: 'whsec_',
      },
    })
    webhookId = webhook.id
    path = `/api/projects/${projectId}/webhooks/${webhookId}/deliveries`
    await management.db.pool.query(INSERT, [projectId, webhookId, DELIVERIES])
    await management.db.pool.query('ANALYZE webhook.deliveries')
    for (const role of ['editor', 'admin'] as const)
      browsers.set(role, await management.member(projectId, role))
  })
  afterAll(() => management?.stop())

  /** Topic and status of all deliveries that a member lists, by page. */
  const list = async (role: ProjectRole, query: string) => {
    const found: string[] = []
    const ids: string[] = []
    for (let cursor = ''; ; ) {
      const response = await browsers.get(role)?.request('GET', `${path}?limit=3${query}${cursor}`)
      const { data, nextCursor } = (await (response as Response).json()) as {
        data: { id: string; topic: string; status: string }[]
        nextCursor: string | null
      }
      found.push(...data.map(({ topic, status }) => `${topic} ${status}`))
      ids.push(...data.map(({ id }) => id))
      if (nextCursor === null || found.length > 20) break
      cursor = `&cursor=${nextCursor}`
    }
    expect(ids).toEqual(ids.toSorted().toReversed())
    expect(new Set(ids).size).toBe(ids.length)
    return found.toSorted()
  }

  it('are listed page by page for each filter, those of the audit log for admins only', async () => {
    const conversions = Array(5).fill('conversion failed')
    const events = Array(5).fill('event delivered')
    expect(await list('editor', '')).toEqual([...conversions, ...events])
    expect(await list('editor', '&topic=audit')).toEqual([])
    expect(await list('editor', '&status=failed')).toEqual(conversions)
    expect(await list('editor', '&topic=event&status=failed')).toEqual([])
    expect(await list('admin', '&status=failed')).toEqual([...Array(5).fill('audit failed'), ...conversions])
    expect(await list('admin', '&topic=audit&status=failed')).toEqual(Array(5).fill('audit failed'))
    expect((await list('admin', '')).filter((one) => one === 'audit delivered').length).toBeGreaterThan(15)
  })

  it.each([
    ['of an editor', { withAudit: false }],
    ['of a topic', { topic: 'conversion' }],
    ['with a status', { status: 'failed' }],
    ['of a topic with a status that it does not have', { topic: 'event', status: 'failed' }],
    ['after others', { before: '01900000-0000-7000-8000-000000002710' }],
  ])('are read without others: those %s', async (_, filter) => {
    const statement = listOfDeliveries({
      webhookId,
      topic: undefined,
      status: undefined,
      before: undefined,
      withAudit: true,
      take: 50,
      ...filter,
    })
    const { rows } = await management.db.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
      ...statement,
      text: `EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`,
    })
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    const scans = scansOf(plan)
    expect(scans).toHaveLength(1)
    expect(scans[0]?.['Node Type']).toMatch(/Index.* Scan/)
    expect(scans[0]?.['Rows Removed by Filter'] ?? 0).toBe(0)
  })
})

type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** The parts of a plan that read deliveries. */
const scansOf = (node: PlanNode | undefined): PlanNode[] =>
  node === undefined
    ? []
    : [...(node['Relation Name'] === 'deliveries' ? [node] : []), ...(node.Plans ?? []).flatMap(scansOf)]
