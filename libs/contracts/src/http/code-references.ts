import { Type } from 'typebox'
import { DecisionKey } from '../decision-definition.ts'
import { Id, Name, NullableString, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

/** Places in code that a request may report. */
export const MAX_CODE_REFERENCES = 10_000

const Place = {
  file: Type.String({ minLength: 1, maxLength: 500, description: 'The path in the repository.' }),
  line: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }),
}
const Reference = Type.Object({
  id: Id,
  repository: Type.String(),
  commit: NullableString,
  ...Place,
  reportedAt: Timestamp,
})

const tag = 'Decisions'

export const replaceCodeReferences = defineOperation({
  id: 'replaceCodeReferences',
  method: 'put',
  path: '/api/projects/{projectId}/code-references',
  tag,
  summary: 'Report where the code of a repository refers to decisions',
  description:
    'Replaces what was reported of the repository before; an empty list removes it. `waymark flags refs` finds them in a ' +
    'checkout. A decision that code refers to is not archived, unless that is forced.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: Type.Object({
    repository: Name,
    commit: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    references: Type.Array(Type.Object({ decision: DecisionKey, ...Place }), {
      maxItems: MAX_CODE_REFERENCES,
    }),
  }),
  answers: {
    200: {
      description: 'What was stored',
      schema: Type.Object({
        repository: Type.String(),
        references: Type.Integer({ description: 'How many were stored.' }),
        unknown: Type.Array(Type.String(), {
          description: 'Keys of no decision that is not archived. They are left out.',
        }),
      }),
    },
  },
})

export const listCodeReferences = defineOperation({
  id: 'listCodeReferences',
  method: 'get',
  path: '/api/projects/{projectId}/decisions/{key}/references',
  tag,
  summary: 'List where code refers to a decision',
  access: { by: 'project', role: 'viewer' },
  query: PageQuery,
  answers: { 200: { description: 'A page of places, the newest first', schema: pageOf(Reference) } },
})

export const codeReferenceOperations = [replaceCodeReferences, listCodeReferences]
