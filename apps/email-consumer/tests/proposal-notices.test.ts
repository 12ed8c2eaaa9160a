import { createMemoryLog, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSendProposalNotices } from '../src/send-proposal-notices.ts'
import type { HandOver, OutgoingMail } from '../src/transport.ts'
import { type Harness, openHarness, recordMails } from './harness.ts'

describe.skipIf(!services)('notices of proposals', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  const send = async (outcome: HandOver): Promise<OutgoingMail[]> => {
    const sent: OutgoingMail[] = []
    await createSendProposalNotices({
      pool: harness.db.pool,
      transport: recordMails(sent, () => outcome),
      from: 'Shop <shop@sender.example>',
      publicUrl: 'https://waymark.example',
      log: createMemoryLog(),
    })(new AbortController().signal)
    return sent
  }

  const ACCEPTED: HandOver = { kind: 'accepted', response: 'ok' }
  // Long lines are folded.
  const textIn = ({ raw }: OutgoingMail) => raw.toString().replaceAll(/=\r?\n/g, '')

  /** A proposal with a notice of a kind. */
  const aNotice = async (kind: string, comment: string | null) => {
    const { prisma } = harness.db
    const { projectId } = harness
    const decisionId = uuidv7()
    await prisma.decision.create({
      data: { id: decisionId, projectId, key: `d-${decisionId}`, status: 'active', definition: {} },
    })
    const proposalId = uuidv7()
    await prisma.decisionProposal.create({
      data: {
        id: proposalId,
        projectId,
        decisionId,
        baseVersion: 1,
        request: {},
        decisionStatus: 'active',
        definition: {},
        proposedByKind: 'user',
        proposedById: uuidv7(),
        authors: [],
      },
    })
    const id = uuidv7()
    await prisma.proposalNotice.create({
      data: { id, proposalId, kind, recipient: 'ann@example.com', actor: 'bob@example.com', comment },
    })
    return { id, proposalId, key: `d-${decisionId}` }
  }

  it.each([
    ['proposed', null, 'bob@example.com proposes a change'],
    ['rejected', 'Wait until the sale is over', 'bob@example.com has rejected'],
    ['applied', null, 'has its approvals and is applied'],
    ['failed', 'It did not have its approvals at its time', 'could not be applied'],
    ['bypassed', 'Orders fail', 'without its approvals, for the reason below'],
    ['added_later', null, 'proposed: added_later'],
  ])('that are %s are mailed once', async (kind, comment, phrase) => {
    const { proposalId, key } = await aNotice(kind, comment)
    const [mail, ...others] = await send(ACCEPTED)
    expect(others).toEqual([])
    expect(mail?.envelope.to).toBe('ann@example.com')
    const text = mail ? textIn(mail) : ''
    expect(text).toContain(phrase)
    expect(text).toContain(`/decisions/${key}`)
    expect(text).toContain(`Proposal: ${proposalId}`)
    if (comment !== null) expect(text).toContain(comment)
    expect(await harness.db.prisma.proposalNotice.count()).toBe(0)
  })

  it('are mailed again when the server refused them for now', async () => {
    const { id } = await aNotice('proposed', null)
    await send({ kind: 'refused', permanent: false, reason: 'later' })
    expect(await send(ACCEPTED)).toHaveLength(0)
    await harness.db.prisma.proposalNotice.update({ where: { id }, data: { dueAt: new Date(0) } })
    expect(await send(ACCEPTED)).toHaveLength(1)
    expect(await harness.db.prisma.proposalNotice.count()).toBe(0)
  })
})
