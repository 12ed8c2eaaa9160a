import { type Static, Type } from 'typebox'
import { approverRoles, MAX_APPROVALS } from '../approvals.ts'
import { DecisionStatusSchema } from '../decision-definition.ts'
import { EnvironmentKey, PRODUCTION } from '../environment.ts'
import { Id, JsonObject, NullableString, NullableTimestamp, notBlank, Timestamp } from '../schema-parts.ts'
import { ChangeAuthor, DecisionPatch, VersionChanges, Warnings } from './decisions.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

/** Proposals of a decision that may be open. */
export const MAX_OPEN_PROPOSALS = 20

export const proposalStatuses = ['open', 'applied', 'rejected', 'withdrawn', 'failed'] as const
export type ProposalStatus = (typeof proposalStatuses)[number]
const Status = Type.Unsafe<ProposalStatus>({ type: 'string', enum: [...proposalStatuses] })

const Text = (description: string) =>
  Type.String({ minLength: 1, maxLength: 1_000, ...notBlank, description })
const Resume = Type.Object(
  {
    environment: Type.Optional(Type.String({ ...EnvironmentKey, default: PRODUCTION })),
    reason: Text('Why; kept in the history.'),
  },
  { description: 'Resumes what guards have stopped, as `POST resume`.' },
)
const wanted = {
  change: Type.Optional(DecisionPatch),
  restore: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2 ** 31 - 1,
      description: 'An earlier version whose definition becomes the newest one.',
    }),
  ),
  resume: Type.Optional(Resume),
}
const optional = {
  at: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      maxLength: 40,
      description: 'When to apply it; in the future. Null applies it with its last approval.',
    }),
  ),
  comment: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: 1,
      maxLength: 1_000,
      ...notBlank,
      description: 'Why, for those who approve it.',
    }),
  ),
}
const ProposalRequest = Type.Object({ ...wanted, ...optional })
/** What is proposed: one of a change, a version to restore, and a resume. */
export type ProposalRequest = Static<typeof ProposalRequest>

const verdicts = ['approved', 'rejected', 'bypassed'] as const
const Review = Type.Object({
  verdict: Type.Unsafe<(typeof verdicts)[number]>({ type: 'string', enum: [...verdicts] }),
  comment: NullableString,
  by: ChangeAuthor,
  at: Timestamp,
  revision: Type.Integer({ description: 'The revision of the proposal that was reviewed.' }),
  counts: Type.Boolean({
    description:
      'Whether the approval still counts: not after an edit, a newer version of the decision, or the loss of the role.',
  }),
})
const NeededApprovals = Type.Object({
  environments: Type.Array(Type.String(), { description: 'What it changes there needs these approvals.' }),
  required: Type.Integer({
    description:
      'How many members must approve it. One more than the setting, if a key without an owner has proposed it.',
  }),
  roles: Type.Array(
    Type.Unsafe<(typeof approverRoles)[number]>({ type: 'string', enum: [...approverRoles] }),
  ),
  given: Type.Integer({ description: 'Approvals that count.' }),
})

const Proposal = Type.Object({
  id: Id,
  decision: Type.String({ description: 'The key of the decision.' }),
  status: Status,
  revision: Type.Integer({ description: 'Increases with every edit, which withdraws the approvals.' }),
  baseVersion: Type.Integer({ description: 'The version of the decision that it changes.' }),
  outdated: Type.Boolean({
    description:
      'Whether there is a newer version, which withdraws the approvals. `PATCH` with `{}` makes the proposal anew.',
  }),
  request: Type.Unsafe<Record<string, unknown>>({
    ...JsonObject,
    description: 'What was asked for: `change`, `restore` or `resume`.',
  }),
  decisionStatus: Type.Unsafe<Static<typeof DecisionStatusSchema>>({
    ...DecisionStatusSchema,
    description: 'The status of the decision once it is applied.',
  }),
  definition: Type.Unsafe<Record<string, unknown>>({
    ...JsonObject,
    description: 'The exact definition that is applied.',
  }),
  at: NullableTimestamp,
  comment: NullableString,
  approvals: Type.Array(NeededApprovals),
  approved: Type.Boolean({ description: 'Whether it has all approvals that it needs now.' }),
  reviews: Type.Array(Review, { description: 'The oldest first.' }),
  version: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The version that it made, once it is applied.',
  }),
  error: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Why it failed.' }),
  proposedBy: ChangeAuthor,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  finishedAt: NullableTimestamp,
})
const ComparedProposal = Type.Object({
  ...Proposal.properties,
  comparedWith: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description:
      'The version that `changes` compares it with: the newest one up to `baseVersion` that was active in an environment. ' +
      'Null if none is known; then the whole definition is new.',
  }),
  changes: VersionChanges,
  warnings: Warnings,
})
/** A proposed change of a decision. */
export type DecisionProposal = Static<typeof ComparedProposal>

const tag = 'Proposals'
const collection = '/api/projects/{projectId}/decisions/{key}/proposals'
const one = `${collection}/{id}`
const editor = { by: 'project', role: 'editor' } as const
const viewer = { by: 'project', role: 'viewer' } as const
/** An approval is given by a person: a key may belong to the author. */
const person = { by: 'project', role: 'editor', tokens: false, keys: false } as const
const proposal = { description: 'The proposal', schema: ComparedProposal }
const finished = { description: 'It is not open any more', schema: ErrorBody }
const cannotReview = {
  description: 'It is not open any more, or there is a newer version of the decision',
  schema: ErrorBody,
}
const another = { description: 'It was edited: its revision is another', schema: ErrorBody }
const revision = Type.Integer({
  minimum: 1,
  description: 'The revision that you have read. 412 for another.',
})

export const createProposal = defineOperation({
  id: 'createProposal',
  method: 'post',
  path: collection,
  tag,
  summary: 'Propose a change of a decision',
  description:
    'Exactly one of `change` (the fields of `PATCH` of the decision), `restore` and `resume`. It stores the exact definition ' +
    'that is applied, and what it was made from. It is applied when as many members as the setting `approvals` requires, at ' +
    `least one, have approved it. Up to ${MAX_OPEN_PROPOSALS} of a decision are open.`,
  access: editor,
  effects: [],
  body: ProposalRequest,
  answers: {
    201: proposal,
    409: { description: 'The decision is archived, or nothing is stopped', schema: ErrorBody },
    412: { description: 'The decision has another version than `change.version`', schema: ErrorBody },
  },
})

export const listProposals = defineOperation({
  id: 'listProposals',
  method: 'get',
  path: '/api/projects/{projectId}/proposals',
  tag,
  summary: 'List proposed changes of decisions',
  access: viewer,
  query: Type.Object({
    ...pageParameters,
    status: Type.Optional(Status),
    decision: equalTo('Of the decision with this key.'),
  }),
  answers: { 200: { description: 'A page of proposals, the newest first', schema: pageOf(Proposal) } },
})

export const getProposal = defineOperation({
  id: 'getProposal',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a proposed change and what it changes',
  access: viewer,
  answers: { 200: proposal },
})

export const updateProposal = defineOperation({
  id: 'updateProposal',
  method: 'patch',
  path: one,
  tag,
  summary: 'Edit a proposed change, or make it from the newest version',
  description:
    'Makes it from the newest version of the decision, by the given `change`, `restore` or `resume` or the one it has. ' +
    'Withdraws its approvals. Whoever edits it is one of its authors, and cannot approve it.',
  access: editor,
  effects: [],
  body: ProposalRequest,
  answers: {
    200: proposal,
    409: finished,
    412: { description: 'The decision has another version than `change.version`', schema: ErrorBody },
  },
})

export const withdrawProposal = defineOperation({
  id: 'withdrawProposal',
  method: 'delete',
  path: one,
  tag,
  summary: 'Withdraw a proposed change',
  access: editor,
  effects: [],
  answers: { 204: { description: 'Withdrawn' }, 409: finished },
})

export const approveProposal = defineOperation({
  id: 'approveProposal',
  method: 'post',
  path: `${one}/approve`,
  tag,
  summary: 'Approve a proposed change',
  description:
    `By a member who is signed in, has one of the roles that may approve, and is none of its authors. The last of up to ${MAX_APPROVALS} ` +
    'approvals applies it, unless it has a time. One that cannot be applied then has the status `failed`.',
  access: person,
  effects: [],
  body: Type.Object({ revision, comment: Type.Optional(Text('For the authors.')) }),
  answers: { 200: proposal, 409: cannotReview, 412: another },
})

export const rejectProposal = defineOperation({
  id: 'rejectProposal',
  method: 'post',
  path: `${one}/reject`,
  tag,
  summary: 'Reject a proposed change',
  description: 'By whoever might approve it. It ends the proposal.',
  access: person,
  effects: [],
  body: Type.Object({ revision, comment: Text('Why, for the authors.') }),
  answers: { 200: proposal, 409: cannotReview, 412: another },
})

export const bypassProposal = defineOperation({
  id: 'bypassProposal',
  method: 'post',
  path: `${one}/bypass`,
  tag,
  summary: 'Apply a proposed change at once without its approvals',
  description:
    'For emergencies. The reason is in the audit log, in the history of the decision and in an email to all owners of the ' +
    'project.',
  access: { by: 'project', role: 'admin', tokens: false, keys: false },
  effects: ['approval'],
  body: Type.Object({ revision, reason: Text('Why it cannot wait for approvals.') }),
  answers: { 200: proposal, 409: cannotReview, 412: another },
})

export const proposalOperations = [
  createProposal,
  listProposals,
  getProposal,
  updateProposal,
  withdrawProposal,
  approveProposal,
  rejectProposal,
  bypassProposal,
]
