import type { Client } from '@waymark/client'
import {
  createProposal,
  type DecisionProposal,
  listProposals,
  updateProposal,
} from '@waymark/contracts/http/proposals'
import { applyChange, checkUnchanged, patchOf, withIds } from './apply.ts'
import type { Lock } from './lock.ts'
import type { Change } from './plan.ts'
import { type Names, send } from './project.ts'
import { canonical, type Fields } from './values.ts'

/** A change of a decision that waits for approvals. */
export type Proposed = Pick<DecisionProposal, 'id' | 'decision' | 'status' | 'revision' | 'approvals'>

/** The fields of a new decision that have it decide. */
const EFFECTIVE = ['status', 'environments']

/**
 * Proposes a change of a decision. A new one is created as a draft first. What is proposed already stays as it is, or is made
 * anew if the decision has changed since, so that repeating the command adds nothing.
 * @returns undefined when there is nothing to propose, for a new draft
 * @throws CliError when the decision was changed since the plan was made
 */
export const proposeChange = async (
  client: Client,
  projectId: string,
  change: Change,
  names: Names,
  lock: Lock,
  comment: string | undefined,
): Promise<Proposed | undefined> => {
  const wanted = { change: await wantedOf(client, projectId, change, names, lock) }
  if (Object.keys(wanted.change).length === 0) return undefined
  const parameters = { projectId, key: change.name }
  const query = { decision: change.name, status: 'open', limit: 100 }
  const { data } = await send(client, listProposals, { projectId }, { query })
  const open = (data as { data: DecisionProposal[] }).data
  const same = open.find(({ request }) => canonical(request) === canonical(wanted))
  if (same && !same.outdated) return viewOf(same)
  const { data: made } = same
    ? await send(client, updateProposal, { ...parameters, id: same.id }, { body: {} })
    : await send(client, createProposal, parameters, { body: { ...wanted, ...(comment && { comment }) } })
  return viewOf(made as DecisionProposal)
}

const wantedOf = async (
  client: Client,
  projectId: string,
  change: Change,
  names: Names,
  lock: Lock,
): Promise<Fields> => {
  const { action, fields, stored } = change
  if (action === 'create') {
    const draft = Object.fromEntries(Object.entries(fields).filter(([name]) => !EFFECTIVE.includes(name)))
    await applyChange(client, projectId, { ...change, fields: draft }, names, lock)
    const all = withIds(change, names)
    return Object.fromEntries(Object.entries(all).filter(([name]) => EFFECTIVE.includes(name)))
  }
  if (stored === undefined) throw new Error(`${action} of ${change.name} without what is stored`)
  await checkUnchanged(client, projectId, stored, names)
  return action === 'remove' ? { status: 'archived' } : patchOf(change, stored, names)
}

const viewOf = ({ id, decision, status, revision, approvals }: DecisionProposal): Proposed => ({
  id,
  decision,
  status,
  revision,
  approvals,
})
