import { randomUUID } from 'node:crypto'
import { MAX_OPEN_PROPOSALS } from '@waymark/contracts/http/proposals'
import { readConfig } from '@waymark/service-kit'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { quotasConfig } from '../src/app.ts'
import { applyDueProposals } from '../src/decisions/apply-proposals.ts'
import { findDueProposals } from '../src/decisions/proposal-queries.ts'
import { applyDue } from '../src/decisions/scheduled-changes.ts'
import { RECENT_MS } from '../src/http/reauthentication.ts'
import { type Browser, type Management, PASSWORD, startManagement } from './start-management.ts'

const HOUR_MS = 3_600_000

type Json = { [field: string]: unknown }
type Answer = { status: number; body: Json; headers: Headers }
type Proposal = Json & { id: string; revision: number }
type Member = Browser & { userId: string; email: string }

describe.skipIf(!services)('proposals of changes', () => {
  let management: Management
  let owner: Member
  let admin: Member
  let author: Member
  let reviewer: Member
  let second: Member
  let viewer: Member
  let projectId = ''

  beforeAll(async () => {
    management = await startManagement()
    const aMember = async (): Promise<Member> => {
      const one = await management.register()
      const { id: userId, email } = one.account.user
      return Object.assign(one, { userId, email })
    }
    owner = await aMember()
    admin = await aMember()
    author = await aMember()
    reviewer = await aMember()
    second = await aMember()
    viewer = await aMember()
  })
  afterAll(() => management?.stop())

  // A project for each test, because settings and members change.
  beforeEach(async () => {
    const { prisma } = management.db
    await prisma.session.updateMany({ data: { verifiedAt: new Date() } })
    const made = await owner.request('POST', '/api/projects', { name: 'A shop' })
    projectId = ((await made.json()) as { id: string }).id
    const roles = [
      [admin, 'admin'],
      [author, 'editor'],
      [reviewer, 'editor'],
      [second, 'editor'],
      [viewer, 'viewer'],
    ] as const
    await prisma.projectMember.createMany({
      data: roles.map(([{ userId }, role]) => ({ projectId, userId, role })),
    })
  })

  const as = async (
    who: Browser,
    method: string,
    resource: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer> => {
    const response = await who.request(method, `/api/projects/${projectId}/${resource}`, body, headers)
    const text = await response.text()
    return {
      status: response.status,
      body: text === '' ? {} : JSON.parse(text),
      headers: response.headers,
    }
  }
  /** A caller with a key, which belongs to a user if there is one. */
  const keyOf = async (userId: string | null): Promise<Browser> => {
    const key = await management.key(projectId)
    const { prisma } = management.db
    const newest = await prisma.apiKey.findFirstOrThrow({
      where: { projectId },
      orderBy: { createdAt: 'desc' },
    })
    await prisma.apiKey.update({ where: { id: newest.id }, data: { ownerId: userId } })
    const anyone = management.browser()
    return {
      ...anyone,
      request: (method, path, body, headers) =>
        anyone.request(method, path, body, { ...headers, 'X-API-Key': key }),
    }
  }
  const requireApprovals = async (approvals: Json | null) => {
    const { status, body } = await as(owner, 'PATCH', 'settings', { approvals })
    expect([status, body.errors]).toEqual([200, undefined])
  }
  const rule = { id: 'everyone', variant: 'on', rollout: 50 }
  const parts = (more: Json = {}) => ({
    variants: [
      { key: 'off', value: false },
      { key: 'on', value: true },
    ],
    fallbackVariant: 'off',
    rules: [rule],
    ...more,
  })
  /** Creates a decision as if it were before approvals were required. */
  const create = async (more: Json = { status: 'active' }): Promise<string> => {
    const key = `d-${randomUUID()}`
    const { status, body } = await as(author, 'POST', 'decisions', { key, ...parts(more) })
    expect([status, body.errors]).toEqual([201, undefined])
    return key
  }
  const propose = async (key: string, request: Json, who: Browser = author): Promise<Proposal> => {
    const { status, body } = await as(who, 'POST', `decisions/${key}/proposals`, request)
    expect([status, body.errors]).toEqual([201, undefined])
    return body as Proposal
  }
  const pathOf = (key: string, { id }: Proposal) => `decisions/${key}/proposals/${id}`
  const approve = (who: Browser, key: string, proposal: Proposal, more: Json = {}) =>
    as(who, 'POST', `${pathOf(key, proposal)}/approve`, { revision: proposal.revision, ...more })
  const read = async (key: string): Promise<Json> => (await as(author, 'GET', `decisions/${key}`)).body
  const readProposal = async (key: string, proposal: Proposal): Promise<Proposal> =>
    (await as(author, 'GET', pathOf(key, proposal))).body as Proposal
  const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()
  const depsAhead = (hours: number) => ({
    db: management.platform.db,
    clock: () => Date.now() + hours * HOUR_MS,
    quotas: readConfig(quotasConfig, {}),
  })
  /** Ages the sessions of a user. */
  const age = ({ userId }: { userId: string }) =>
    management.db.prisma.session.updateMany({
      where: { userId },
      data: { verifiedAt: new Date(Date.now() - RECENT_MS) },
    })

  const REFUSED = { status: 403, body: { code: 'approval_required' } }

  describe('where they are required', () => {
    const paths: [name: string, (key: string) => [method: string, resource: string, body?: unknown]][] = [
      ['PATCH', (key) => ['PATCH', `decisions/${key}`, { holdout: 5 }]],
      [
        'PATCH of an environment',
        (key) => ['PATCH', `decisions/${key}`, { environments: { staging: { status: 'active' } } }],
      ],
      ['PUT', (key) => ['PUT', `decisions/${key}`, parts({ fallbackVariant: 'on' })]],
      ['PUT that pauses and changes', (key) => ['PUT', `decisions/${key}`, parts({ status: 'paused' })]],
      ['a restore', (key) => ['POST', `decisions/${key}/history/1/restore`]],
      ['a rollback', (key) => ['POST', `decisions/${key}/rollback`, { version: 1 }]],
      ['archiving', (key) => ['POST', `decisions/${key}/archive`]],
      ['archiving by PATCH', (key) => ['PATCH', `decisions/${key}`, { status: 'archived' }]],
      ['making it a draft', (key) => ['PATCH', `decisions/${key}`, { status: 'draft' }]],
      ['turning it on in an environment', (key) => ['POST', `decisions/${key}/activate?environment=staging`]],
      [
        'a scheduled change',
        (key) => ['POST', `decisions/${key}/scheduled-changes`, { at: inHours(1), change: { holdout: 5 } }],
      ],
    ]
    it('refuse every other way to change what people get, for people and keys alike', async () => {
      const key = await create()
      // Something to restore.
      await as(author, 'PATCH', `decisions/${key}`, { rules: [] })
      await requireApprovals({ required: 1 })
      const callers = [author, owner, await keyOf(null), await keyOf(owner.userId)]
      for (const who of callers)
        for (const [name, request] of paths)
          expect([name, await as(who, ...request(key))]).toMatchObject([name, REFUSED])
      expect(await read(key)).toMatchObject({ version: 2, status: 'active', rules: [] })
    })

    it('let a decision be turned off, and not on again', async () => {
      const key = await create({
        status: 'active',
        environments: { staging: { status: 'active', rules: [rule] } },
      })
      await requireApprovals({ required: 3, roles: ['owner'] })
      const off = [
        await as(author, 'POST', `decisions/${key}/pause`),
        await as(author, 'POST', `decisions/${key}/pause?environment=staging`),
        await as(author, 'PATCH', `decisions/${key}`, { status: 'paused' }),
      ]
      expect(off.map(({ status }) => status)).toEqual([200, 200, 200])
      expect(await as(author, 'POST', `decisions/${key}/activate`)).toMatchObject(REFUSED)
      expect(await as(author, 'PATCH', `decisions/${key}`, { status: 'active' })).toMatchObject(REFUSED)
      expect(await as(author, 'PATCH', `decisions/${key}`, { status: 'draft' })).toMatchObject(REFUSED)
      // Otherwise one could change it while it is off.
      expect(await as(author, 'PATCH', `decisions/${key}`, { holdout: 5 })).toMatchObject(REFUSED)
    })

    it('let the kill switch be scheduled', async () => {
      const key = await create()
      await requireApprovals({ required: 1 })
      const path = `decisions/${key}/scheduled-changes`
      const { status } = await as(author, 'POST', path, { at: inHours(1), change: { status: 'paused' } })
      expect(status).toBe(201)
      await applyDue(depsAhead(2))
      expect(await read(key)).toMatchObject({ status: 'paused' })
    })

    it('let drafts be created and edited, but not begun', async () => {
      await requireApprovals({ required: 1 })
      const key = await create({ status: 'draft' })
      expect((await as(author, 'PATCH', `decisions/${key}`, { rules: [] })).status).toBe(200)
      expect(await as(author, 'PATCH', `decisions/${key}`, { status: 'active' })).toMatchObject(REFUSED)
      expect(await as(author, 'POST', `decisions/${key}/activate`)).toMatchObject(REFUSED)
      const active = { key: `d-${randomUUID()}`, ...parts({ status: 'active' }) }
      expect(await as(author, 'POST', 'decisions', active)).toMatchObject(REFUSED)
      const inStaging = {
        key: `d-${randomUUID()}`,
        ...parts({ environments: { staging: { status: 'active', rules: [] } } }),
      }
      expect(await as(author, 'POST', 'decisions', inStaging)).toMatchObject(REFUSED)
    })

    it('refuse changes of a draft that a decision depends on', async () => {
      const draft = await create({ status: 'draft' })
      const prerequisites = [{ decision: draft, variants: ['on'] }]
      const key = await create({ status: 'active', rules: [{ ...rule, prerequisites }] })
      await requireApprovals({ required: 1 })
      expect(await as(author, 'PATCH', `decisions/${draft}`, { fallbackVariant: 'on' })).toMatchObject(
        REFUSED,
      )
      await approve(reviewer, key, await propose(key, { change: { rules: [rule] } }))
      expect((await as(author, 'PATCH', `decisions/${draft}`, { fallbackVariant: 'on' })).status).toBe(200)
    })

    it('let names be changed', async () => {
      const key = await create()
      await requireApprovals({ required: 1 })
      expect((await as(author, 'PATCH', `decisions/${key}`, { name: 'Checkout' })).status).toBe(200)
    })

    it('apply to environments of their own', async () => {
      const key = await create()
      await requireApprovals({ environments: { production: { required: 1 } } })
      const staging = { environments: { staging: { status: 'active', rules: [rule] } } }
      expect((await as(author, 'PATCH', `decisions/${key}`, staging)).status).toBe(200)
      expect(await as(author, 'PATCH', `decisions/${key}`, { holdout: 5 })).toMatchObject(REFUSED)
      const { approvals } = await propose(key, { change: { holdout: 5 } })
      expect(approvals).toMatchObject([{ environments: ['production'], required: 1, given: 0 }])
    })

    it('refuse a change that was scheduled before, when its time comes', async () => {
      const key = await create()
      const path = `decisions/${key}/scheduled-changes`
      await as(author, 'POST', path, { at: inHours(1), change: { holdout: 5 } })
      await requireApprovals({ required: 1 })
      await applyDue(depsAhead(2))
      const { body } = await as(author, 'GET', path)
      expect(body.data).toMatchObject([
        { status: 'failed', error: expect.stringContaining('need approvals') },
      ])
      expect(await read(key)).toMatchObject({ version: 1, holdout: 0 })
    })

    it('refuse another condition of a segment of a decision, also while a proposal is open', async () => {
      const condition = (value: string) => ({ filters: [{ property: 'traits.plan', op: 'eq', value }] })
      const segment = async () => {
        const key = `s-${randomUUID()}`
        await as(author, 'POST', 'segments', { key, name: 'Regulars', condition: condition('pro') })
        return key
      }
      const [used, drafted, proposed] = [await segment(), await segment(), await segment()]
      const rulesWith = (key: string) => [{ ...rule, condition: { segment: key } }]
      const key = await create({ status: 'active', rules: rulesWith(used) })
      await create({ status: 'draft', rules: rulesWith(drafted) })
      await requireApprovals({ required: 1 })
      const change = (name: string) =>
        as(author, 'PATCH', `segments/${name}`, { condition: condition('free') })
      expect(await change(used)).toMatchObject(REFUSED)
      expect((await as(author, 'PATCH', `segments/${used}`, { name: 'All' })).status).toBe(200)
      expect((await change(drafted)).status).toBe(200)
      expect((await change(proposed)).status).toBe(200)
      const proposal = await propose(key, { change: { rules: rulesWith(proposed) } })
      expect(await change(proposed)).toMatchObject(REFUSED)
      expect((await as(author, 'DELETE', `segments/${proposed}`)).status).toBe(409)
      await as(author, 'DELETE', pathOf(key, proposal))
      expect((await change(proposed)).status).toBe(200)
    })
  })

  describe('an approved one', () => {
    it('applies exactly what was proposed, once, and says who approved it', async () => {
      const key = await create()
      await requireApprovals({ required: 2 })
      const proposal = await propose(key, { change: { holdout: 5 }, comment: 'Measure all discounts' })
      expect(proposal).toMatchObject({
        decision: key,
        status: 'open',
        revision: 1,
        baseVersion: 1,
        comparedWith: 1,
        outdated: false,
        request: { change: { holdout: 5 } },
        definition: { holdout: 5, rules: [rule] },
        decisionStatus: 'active',
        comment: 'Measure all discounts',
        approvals: [{ required: 2, given: 0, roles: ['editor', 'admin', 'owner'] }],
        approved: false,
        changes: [{ op: 'replace', path: '/holdout', value: 5, was: 0 }],
        proposedBy: { kind: 'user', id: author.userId },
      })
      const first = await approve(reviewer, key, proposal, { comment: 'Fine' })
      expect([first.status, first.body]).toMatchObject([
        200,
        { status: 'open', approved: false, approvals: [{ given: 1 }], reviews: [{ counts: true }] },
      ])
      expect(await read(key)).toMatchObject({ version: 1, holdout: 0 })
      // The same member again changes nothing.
      await approve(reviewer, key, proposal)
      expect(await read(key)).toMatchObject({ version: 1 })
      const last = await approve(second, key, proposal)
      expect(last.body).toMatchObject({ status: 'applied', version: 2, approved: true, error: null })
      expect(await read(key)).toMatchObject({ version: 2, holdout: 5 })
      const { body: version } = await as(author, 'GET', `decisions/${key}/history/2`)
      expect(version).toMatchObject({
        change: 'approved',
        changedBy: { id: author.userId },
        evidence: {
          proposal: proposal.id,
          approvals: [{ by: reviewer.userId }, { by: second.userId }],
        },
      })
      expect((await approve(admin, key, proposal)).status).toBe(409)
      const { body: log } = await as(admin, 'GET', `audit-log?resourceId=${key}`)
      const operations = (log.data as Json[]).map(({ operation }) => operation)
      expect(operations).toEqual(
        expect.arrayContaining(['createProposal', 'approveProposal', 'applyProposal']),
      )
    })

    it('makes one version of two last approvals at the same time', async () => {
      const key = await create()
      await requireApprovals({ required: 1 })
      const proposal = await propose(key, { change: { holdout: 5 } })
      const answers = await Promise.all([reviewer, second, admin].map((who) => approve(who, key, proposal)))
      expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true)
      expect(await read(key)).toMatchObject({ version: 2 })
      expect(await readProposal(key, proposal)).toMatchObject({ status: 'applied', version: 2 })
    })

    it('is applied at its time by one of many processes, and not before', async () => {
      const key = await create()
      await requireApprovals({ required: 1 })
      const proposal = await propose(key, { change: { holdout: 5 }, at: inHours(1) })
      expect((await approve(reviewer, key, proposal)).body).toMatchObject({ status: 'open', approved: true })
      await applyDueProposals(depsAhead(0.5))
      expect(await read(key)).toMatchObject({ version: 1 })
      await Promise.all(Array.from({ length: 4 }, () => applyDueProposals(depsAhead(2))))
      expect(await read(key)).toMatchObject({ version: 2, holdout: 5 })
      expect(await readProposal(key, proposal)).toMatchObject({ status: 'applied', version: 2 })
    })

    it('is applied by another process, if the one that took the last approval has ended', async () => {
      const key = await create()
      await requireApprovals({ required: 1 })
      const proposal = await propose(key, { change: { holdout: 5 } })
      const { prisma } = management.db
      await prisma.proposalReview.create({
        data: {
          id: randomUUID(),
          proposalId: proposal.id,
          revision: 1,
          reviewerId: reviewer.userId,
          verdict: 'approved',
        },
      })
      await prisma.decisionProposal.update({ where: { id: proposal.id }, data: { dueAt: new Date() } })
      await applyDueProposals(depsAhead(1))
      expect(await read(key)).toMatchObject({ version: 2, holdout: 5 })
    })

    it('may archive a decision, restore a version and turn it on', async () => {
      const key = await create()
      await as(author, 'PATCH', `decisions/${key}`, { holdout: 5 })
      await requireApprovals({ required: 1 })
      await approve(reviewer, key, await propose(key, { restore: 1 }))
      expect(await read(key)).toMatchObject({ version: 3, holdout: 0 })
      await as(author, 'POST', `decisions/${key}/pause`)
      await approve(reviewer, key, await propose(key, { change: { status: 'active' } }))
      expect(await read(key)).toMatchObject({ version: 5, status: 'active' })
      await approve(reviewer, key, await propose(key, { change: { status: 'archived' } }))
      expect(await read(key)).toMatchObject({ version: 6, status: 'archived' })
      expect((await as(author, 'POST', `decisions/${key}/proposals`, { restore: 1 })).status).toBe(409)
    })

    it('resumes what a guard has stopped, which alone nobody may', async () => {
      const key = await create()
      const stop = { metric: 'm', worseThan: 1, action: 'rollback', at: new Date().toISOString() }
      const states = { production: { everyone: { countedFrom: stop.at, stop } } }
      const { prisma } = management.db
      await prisma.decision.update({ where: { projectId_key: { projectId, key } }, data: { states } })
      await requireApprovals({ required: 1 })
      const reason = { reason: 'The provider was down' }
      expect(await as(author, 'POST', `decisions/${key}/resume`, reason)).toMatchObject(REFUSED)
      await approve(reviewer, key, await propose(key, { resume: reason }))
      const stored = await prisma.decision.findFirstOrThrow({ where: { projectId, key } })
      expect(JSON.stringify(stored.states)).not.toContain('"stop"')
      const { body } = await as(author, 'GET', `decisions/${key}/history/2`)
      expect(body).toMatchObject({ change: 'approved', ...reason })
    })

    it('has failed when it is not valid any more', async () => {
      const other = await create()
      const key = await create()
      await requireApprovals({ required: 1 })
      const prerequisites = [{ decision: other, variants: ['on'] }]
      const proposal = await propose(key, { change: { rules: [{ ...rule, prerequisites }] } })
      await approve(reviewer, other, await propose(other, { change: { status: 'archived' } }))
      expect((await approve(reviewer, key, proposal)).body).toMatchObject({
        status: 'failed',
        version: null,
        error: expect.stringContaining('prerequisites'),
      })
      expect(await read(key)).toMatchObject({ version: 1 })
      expect((await as(author, 'PATCH', pathOf(key, proposal), {})).status).toBe(409)
    })

    it('needs one approval where none is required', async () => {
      const key = await create()
      expect((await as(author, 'PATCH', `decisions/${key}`, { holdout: 1 })).status).toBe(200)
      const proposal = await propose(key, { change: { holdout: 5 } })
      expect((await approve(author, key, proposal)).status).toBe(403)
      expect((await approve(reviewer, key, proposal)).body).toMatchObject({ status: 'applied' })
    })
  })

  describe('their author', () => {
    let key = ''
    let proposal: Proposal
    beforeEach(async () => {
      key = await create()
      await requireApprovals({ required: 1 })
    })
    const stillOpen = async () => expect(await read(key)).toMatchObject({ version: 1 })

    it('cannot approve it in another session, by a key or by an access token', async () => {
      proposal = await propose(key, { change: { holdout: 5 } })
      const session = management.browser()
      const signIn = { email: author.email, password: PASSWORD }
      expect((await session.request('POST', '/api/auth/login', signIn)).status).toBe(200)
      const token = await author.request('POST', '/api/auth/access-tokens', {
        name: 'A script',
        projectIds: null,
        expiresAt: inHours(1),
      })
      const bearer = `Bearer ${((await token.json()) as { token: string }).token}`
      const anyone = management.browser()
      const byToken: Browser = {
        ...anyone,
        request: (method, path, body) => anyone.request(method, path, body, { Authorization: bearer }),
      }
      for (const who of [author, session, await keyOf(author.userId), await keyOf(owner.userId), byToken])
        expect((await approve(who, key, proposal)).status).toBe(403)
      await stillOpen()
    })

    it('is the owner of the key that proposed it', async () => {
      proposal = await propose(key, { change: { holdout: 5 } }, await keyOf(author.userId))
      expect((await approve(author, key, proposal)).status).toBe(403)
      await stillOpen()
      expect((await approve(reviewer, key, proposal)).body).toMatchObject({ status: 'applied' })
    })

    it('may be anyone if the key has no owner, so that one approval more is needed', async () => {
      proposal = await propose(key, { change: { holdout: 5 } }, await keyOf(null))
      expect(proposal.approvals).toMatchObject([{ required: 2 }])
      expect((await approve(author, key, proposal)).body).toMatchObject({ status: 'open' })
      expect((await approve(reviewer, key, proposal)).body).toMatchObject({ status: 'applied' })
    })

    it('is also whoever edited it, and the first one stays', async () => {
      proposal = await propose(key, { change: { holdout: 5 } })
      const edited = await as(reviewer, 'PATCH', pathOf(key, proposal), { change: { holdout: 9 } })
      const next = edited.body as Proposal
      expect(next).toMatchObject({ revision: 2, definition: { holdout: 9 } })
      for (const who of [author, reviewer]) expect((await approve(who, key, next)).status).toBe(403)
      await stillOpen()
      expect((await approve(second, key, next)).body).toMatchObject({ status: 'applied' })
      expect(await read(key)).toMatchObject({ holdout: 9 })
    })

    it('cannot reject it either, and may withdraw it', async () => {
      proposal = await propose(key, { change: { holdout: 5 } })
      const reject = { revision: 1, comment: 'No' }
      expect((await as(author, 'POST', `${pathOf(key, proposal)}/reject`, reject)).status).toBe(403)
      expect((await as(author, 'DELETE', pathOf(key, proposal))).status).toBe(204)
      expect(await readProposal(key, proposal)).toMatchObject({ status: 'withdrawn' })
      expect((await approve(reviewer, key, proposal)).status).toBe(409)
    })
  })

  describe('approvals', () => {
    it('are of the revision that was read, and withdrawn by an edit', async () => {
      const key = await create()
      await requireApprovals({ required: 2 })
      const proposal = await propose(key, { change: { holdout: 5 } })
      await approve(reviewer, key, proposal)
      const { body } = await as(author, 'PATCH', pathOf(key, proposal), { change: { holdout: 50 } })
      expect(body).toMatchObject({ revision: 2, approvals: [{ given: 0 }], reviews: [{ counts: false }] })
      // Who has read the first revision does not approve the second.
      const late = await approve(second, key, proposal)
      expect([late.status, late.body.error]).toEqual([412, expect.stringContaining('its revision is 2')])
      await approve(second, key, body as Proposal)
      expect(await read(key)).toMatchObject({ version: 1 })
      await approve(reviewer, key, body as Proposal)
      expect(await read(key)).toMatchObject({ version: 2, holdout: 50 })
    })

    it('are withdrawn by a newer version of the decision', async () => {
      const key = await create()
      await requireApprovals({ required: 2 })
      const proposal = await propose(key, { change: { holdout: 5 } })
      await approve(reviewer, key, proposal)
      await as(author, 'POST', `decisions/${key}/pause`)
      const outdated = await readProposal(key, proposal)
      expect(outdated).toMatchObject({ outdated: true, approvals: [{ given: 0 }] })
      expect((await approve(second, key, proposal)).status).toBe(409)
      const { body: anew } = await as(author, 'PATCH', pathOf(key, proposal), {})
      expect(anew).toMatchObject({
        outdated: false,
        baseVersion: 2,
        revision: 2,
        decisionStatus: 'paused',
        approvals: [{ given: 0 }],
      })
      await approve(second, key, anew as Proposal)
      await approve(reviewer, key, anew as Proposal)
      expect(await read(key)).toMatchObject({ version: 3, status: 'paused', holdout: 5 })
    })

    it('do not count any more at its time, after a newer version', async () => {
      const key = await create()
      await requireApprovals({ required: 1 })
      const proposal = await propose(key, { change: { holdout: 5 }, at: inHours(1) })
      await approve(reviewer, key, proposal)
      await as(author, 'POST', `decisions/${key}/pause`)
      await applyDueProposals(depsAhead(2))
      expect(await readProposal(key, proposal)).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('newer version'),
      })
      expect(await read(key)).toMatchObject({ version: 2, holdout: 0 })
    })

    it('do not count any more when the role is lost before the last one or before its time', async () => {
      const key = await create()
      await requireApprovals({ required: 1, roles: ['admin'] })
      const timed = await propose(key, { change: { holdout: 5 }, at: inHours(1) })
      expect((await approve(reviewer, key, timed)).status).toBe(403)
      expect((await approve(admin, key, timed)).body).toMatchObject({ approved: true })
      const { prisma } = management.db
      await prisma.projectMember.update({
        where: { projectId_userId: { projectId, userId: admin.userId } },
        data: { role: 'editor' },
      })
      expect(await readProposal(key, timed)).toMatchObject({ approved: false, reviews: [{ counts: false }] })
      await applyDueProposals(depsAhead(2))
      expect(await readProposal(key, timed)).toMatchObject({
        status: 'failed',
        error: 'It did not have its approvals at its time',
      })
      await requireApprovals({ required: 2 })
      const proposal = await propose(key, { change: { holdout: 5 } })
      await approve(reviewer, key, proposal)
      await prisma.projectMember.deleteMany({ where: { projectId, userId: reviewer.userId } })
      expect((await approve(second, key, proposal)).body).toMatchObject({ status: 'open', approved: false })
      expect(await read(key)).toMatchObject({ version: 1 })
      expect((await approve(admin, key, proposal)).body).toMatchObject({ status: 'applied' })
    })

    it('are those that each environment requires', async () => {
      const key = await create({
        status: 'active',
        environments: { staging: { status: 'active', rules: [] } },
      })
      await requireApprovals({
        required: 1,
        environments: { production: { required: 2, roles: ['admin', 'owner'] } },
      })
      const proposal = await propose(key, { change: { holdout: 5 } })
      expect(proposal.approvals).toMatchObject([
        { environments: ['production'], required: 2, roles: ['admin', 'owner'] },
        { environments: ['staging'], required: 1, roles: ['editor', 'admin', 'owner'] },
      ])
      await approve(reviewer, key, proposal)
      await approve(second, key, proposal)
      expect(await read(key)).toMatchObject({ version: 1 })
      await approve(admin, key, proposal)
      expect((await approve(owner, key, proposal)).body).toMatchObject({ status: 'applied' })
    })

    it('are for viewers to read only', async () => {
      const key = await create()
      const proposal = await propose(key, { change: { holdout: 5 } })
      expect((await as(viewer, 'GET', pathOf(key, proposal))).status).toBe(200)
      expect((await approve(viewer, key, proposal)).status).toBe(403)
      expect((await as(viewer, 'POST', `decisions/${key}/proposals`, { restore: 1 })).status).toBe(403)
    })
  })

  describe('a bypass', () => {
    it('is by an admin with a reason, which is in the audit log, the history and an email to all owners', async () => {
      const key = await create()
      await requireApprovals({ required: 3, roles: ['owner'] })
      const proposal = await propose(key, { change: { holdout: 5 }, at: inHours(1) })
      const path = `${pathOf(key, proposal)}/bypass`
      const body = { revision: 1, reason: 'Orders fail, and nobody else is awake' }
      for (const who of [author, reviewer, await keyOf(owner.userId)])
        expect((await as(who, 'POST', path, body)).status).toBe(403)
      expect((await as(admin, 'POST', path, { revision: 1 })).status).toBe(422)
      expect((await as(admin, 'POST', path, { ...body, revision: 2 })).status).toBe(412)
      await age(admin)
      const old = await as(admin, 'POST', path, body)
      expect([old.status, old.body.code]).toEqual([403, 'reauthentication_required'])
      const { status, body: answer } = await as(owner, 'POST', path, body)
      expect([status, answer]).toMatchObject([
        200,
        { status: 'applied', version: 2, reviews: [{ verdict: 'bypassed', comment: body.reason }] },
      ])
      expect(await read(key)).toMatchObject({ version: 2, holdout: 5 })
      const { body: version } = await as(author, 'GET', `decisions/${key}/history/2`)
      expect(version).toMatchObject({ change: 'bypassed', reason: body.reason })
      const { body: log } = await as(admin, 'GET', 'audit-log?operation=bypassProposal')
      expect(log.data).toMatchObject([{ resourceId: key, reason: body.reason, actor: { id: owner.userId } }])
      const { prisma } = management.db
      const notices = await prisma.proposalNotice.findMany({ where: { proposalId: proposal.id } })
      const bypassed = notices.filter(({ kind }) => kind === 'bypassed')
      expect(bypassed).toMatchObject([{ comment: body.reason }])
    })

    it('does not go around what the project refuses, or a newer version', async () => {
      const key = await create()
      await requireApprovals({ required: 1 })
      const proposal = await propose(key, { change: { holdout: 5 } })
      await as(author, 'POST', `decisions/${key}/pause`)
      const path = `${pathOf(key, proposal)}/bypass`
      expect((await as(admin, 'POST', path, { revision: 1, reason: 'Now' })).status).toBe(409)
    })
  })

  describe('the setting', () => {
    it('is not weakened by a key or in an old session, and a weaker one stands out in the audit log', async () => {
      await requireApprovals({ required: 2, environments: { production: { required: 3 } } })
      const key = await keyOf(owner.userId)
      const weaker = [
        null,
        {},
        { required: 1, environments: { production: { required: 3 } } },
        { required: 2 },
        { required: 2, environments: { production: { required: 2 } } },
      ]
      for (const approvals of weaker) {
        const { status, body } = await as(key, 'PATCH', 'settings', { approvals })
        expect([status, body.error]).toEqual([403, expect.stringContaining('not by a key')])
      }
      await age(admin)
      for (const approvals of weaker) {
        const { status, body } = await as(admin, 'PATCH', 'settings', { approvals })
        expect([status, body.code]).toEqual([403, 'reauthentication_required'])
      }
      expect((await as(author, 'PATCH', 'settings', { approvals: null })).status).toBe(403)
      // A stronger one, and other settings, are no matter.
      const stronger = { required: 3, roles: ['owner'], environments: { production: { required: 3 } } }
      expect((await as(key, 'PATCH', 'settings', { approvals: stronger })).status).toBe(200)
      expect((await as(key, 'PATCH', 'settings', { ipStorage: 'drop' })).status).toBe(200)
      const weakened = async () =>
        (await as(admin, 'GET', 'audit-log?operation=weakenApprovals')).body.data as Json[]
      expect(await weakened()).toEqual([])
      await requireApprovals(null)
      expect(await weakened()).toMatchObject([{ actor: { kind: 'user', id: owner.userId } }])
    })

    it.each([
      [{ required: 0 }, 'approvals.required'],
      [{ required: 4 }, 'approvals.required'],
      [{ required: 1, roles: [] }, 'approvals.roles'],
      [{ required: 1, roles: ['viewer'] }, 'approvals.roles.0'],
      [{ environments: { prod: { required: 1 } } }, 'approvals.environments.prod'],
      [{ environments: { production: {} } }, 'approvals.environments.production.required'],
    ])('refuses %j', async (approvals, field) => {
      const { status, body } = await as(owner, 'PATCH', 'settings', { approvals })
      expect([status, (body.errors as Json[])[0]?.field]).toEqual([422, field])
    })
  })

  describe('requests', () => {
    it.each([
      [{}, 422],
      [{ comment: 'Nothing' }, 422],
      [{ change: { holdout: 5 }, restore: 1 }, 422],
      [{ change: { holdout: 101 } }, 422],
      [{ change: { fallbackVariant: 'none' } }, 422],
      [{ change: { version: 7, holdout: 5 } }, 412],
      [{ restore: 9 }, 422],
      [{ resume: { reason: 'Nothing is stopped' } }, 409],
      [{ change: { holdout: 5 }, at: '2020-01-01T00:00:00Z' }, 422],
    ])('%j is answered %i', async (request, status) => {
      const key = await create()
      expect((await as(author, 'POST', `decisions/${key}/proposals`, request)).status).toBe(status)
    })

    it('of others than the owner of a proposal and with If-Match are checked', async () => {
      const [key, other] = [await create(), await create()]
      const proposal = await propose(key, { change: { holdout: 5 } })
      expect((await as(author, 'GET', pathOf(other, proposal))).status).toBe(404)
      expect((await approve(reviewer, other, proposal)).status).toBe(404)
      const { headers } = await as(author, 'GET', pathOf(key, proposal))
      const match = { 'If-Match': headers.get('ETag') ?? '' }
      await requireApprovals({ required: 2 })
      await approve(reviewer, key, proposal)
      expect((await as(author, 'PATCH', pathOf(key, proposal), {}, match)).status).toBe(412)
      expect((await as(author, 'DELETE', pathOf(key, proposal), undefined, match)).status).toBe(412)
    })

    it('list those of the project, of a decision and with a status', async () => {
      const [key, other] = [await create(), await create()]
      const rejected = await propose(key, { change: { holdout: 5 } })
      const open = await propose(other, { restore: 1 })
      const reject = { revision: 1, comment: 'Wait until the sale is over' }
      const answer = await as(reviewer, 'POST', `${pathOf(key, rejected)}/reject`, reject)
      expect(answer.body).toMatchObject({ status: 'rejected', reviews: [{ comment: reject.comment }] })
      const ids = async (query: string) =>
        ((await as(viewer, 'GET', `proposals${query}`)).body.data as Proposal[]).map(({ id }) => id)
      expect(await ids('')).toEqual([open.id, rejected.id])
      expect(await ids('?status=open')).toEqual([open.id])
      expect(await ids(`?decision=${key}`)).toEqual([rejected.id])
    })

    it(`keep to ${MAX_OPEN_PROPOSALS} open proposals of a decision`, async () => {
      const key = await create()
      const first = await propose(key, { restore: 1 })
      for (let made = 1; made < MAX_OPEN_PROPOSALS; made++) await propose(key, { restore: 1 })
      const refused = await as(author, 'POST', `decisions/${key}/proposals`, { restore: 1 })
      expect([refused.status, (refused.body.errors as Json[])[0]?.rule]).toEqual([422, 'max_items'])
      await as(author, 'DELETE', pathOf(key, first))
      await propose(key, { restore: 1 })
    })
  })

  it('show all that was changed since a decision was last active', async () => {
    await requireApprovals({ required: 1 })
    const key = await create({ status: 'draft' })
    await as(author, 'PATCH', `decisions/${key}`, { holdout: 5 })
    const first = await propose(key, { change: { status: 'active' } })
    expect(first).toMatchObject({ comparedWith: null })
    const paths = (first.changes as Json[]).map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['/status', '/rules', '/holdout', '/variants']))
    await approve(reviewer, key, first)
    await as(author, 'POST', `decisions/${key}/pause`)
    await approve(reviewer, key, await propose(key, { change: { holdout: 9 } }))
    const again = await propose(key, { change: { status: 'active' } })
    expect(again).toMatchObject({
      comparedWith: 3,
      baseVersion: 5,
      changes: [{ path: '/holdout', was: 5, value: 9 }],
    })
  })

  it('are mailed to those who may approve, and their author hears what became of them', async () => {
    const key = await create()
    await requireApprovals({ required: 1, roles: ['admin', 'owner'] })
    const proposal = await propose(key, { change: { holdout: 5 }, comment: 'Please' })
    const noticesOf = async (kind: string) => {
      const where = { proposalId: proposal.id, kind }
      const found = await management.db.prisma.proposalNotice.findMany({ where })
      return found.map(({ recipient, actor, comment }) => ({ recipient, actor, comment }))
    }
    const asked = await noticesOf('proposed')
    expect(asked.map(({ recipient }) => recipient)).toContain(admin.email)
    expect(asked).toHaveLength(2)
    expect(asked[0]).toMatchObject({ actor: author.email, comment: 'Please' })
    await approve(admin, key, proposal)
    expect(await noticesOf('applied')).toEqual([{ recipient: author.email, actor: 'Waymark', comment: null }])
  })

  it('are messages to webhooks', async () => {
    const key = await create()
    await requireApprovals({ required: 1 })
    const proposal = await propose(key, { change: { holdout: 5 } })
    await approve(reviewer, key, proposal, { comment: 'Fine' })
    const records = await management.db.prisma.outboxRecord.findMany({
      where: { lane: 'decisions' },
      orderBy: { id: 'asc' },
    })
    const changes = records
      .map(({ value }) => JSON.parse(value) as Json)
      .filter(({ decisionKey }) => decisionKey === key)
    expect(changes).toMatchObject([
      { change: 'created' },
      { change: 'proposed', version: 1, proposal: { id: proposal.id, revision: 1 } },
      { change: 'proposal_approved', reason: 'Fine', changedBy: { id: reviewer.userId } },
      { change: 'approved', version: 2, evidence: { proposal: proposal.id } },
    ])
  })

  it('of a project with very many do not delay those of others', async () => {
    const { prisma } = management.db
    const { id: decisionId } = await prisma.decision.findFirstOrThrow({ where: { key: await create() } })
    const proposalOf = (project: string, minutes: number) => ({
      id: randomUUID(),
      projectId: project,
      decisionId,
      baseVersion: 1,
      request: {},
      decisionStatus: 'active',
      definition: {},
      dueAt: new Date(Date.now() + HOUR_MS + minutes * 60_000),
      proposedByKind: 'key',
      proposedById: randomUUID(),
      authors: [],
    })
    const busy = randomUUID()
    const many = Array.from({ length: 101 }, (_, index) => proposalOf(busy, index / 10))
    const late = proposalOf(randomUUID(), 30)
    await prisma.decisionProposal.createMany({ data: [...many, late] })
    const due = await findDueProposals(prisma, new Date(Date.now() + 2 * HOUR_MS), 100)
    await prisma.decisionProposal.deleteMany({ where: { decisionId } })
    expect(due).toContain(late.id)
    expect(due.filter((id) => many.some((one) => one.id === id))).toEqual(
      many.slice(0, 25).map(({ id }) => id),
    )
  })
})
