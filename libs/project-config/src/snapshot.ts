import {
  compileValidator,
  type DecisionDefinition,
  type DecisionStatus,
  decisionStatuses,
  type ProjectSettings,
} from '@waymark/contracts'
import { type Static, Type } from 'typebox'

const NullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })
const JsonObject = Type.Unsafe<Record<string, unknown>>({ type: 'object' })

const Selector = Type.Object({
  id: Type.String(),
  eventName: Type.String(),
  filter: Type.Unknown(),
  amountProperty: NullableString,
  currencyProperty: NullableString,
  quantityProperty: NullableString,
})
const Decision = Type.Object({
  id: Type.String(),
  key: Type.String(),
  status: Type.Unsafe<DecisionStatus>({ enum: [...decisionStatuses] }),
  version: Type.Integer(),
  // Checked when it is compiled: a decision that cannot be compiled is left out.
  definition: Type.Unsafe<DecisionDefinition>({ type: 'object' }),
})
const Trigger = Type.Object({
  id: Type.String(),
  eventName: Type.String(),
  filter: Type.Unknown(),
  cooldownSeconds: Type.Integer(),
  activatedAt: Type.String(),
})

/** A project's configuration as stored and cached. Its settings are validated when they are used. */
const Snapshot = Type.Object({
  projectId: Type.String(),
  settings: Type.Unsafe<ProjectSettings>({ type: 'object' }),
  definitions: Type.Unsafe<Record<string, object>>({ type: 'object', additionalProperties: JsonObject }),
  selectors: Type.Array(Selector),
  decisions: Type.Array(Decision),
  triggers: Type.Array(Trigger),
  /** Absent in copies, because secrets must not get into the shared cache. */
  identitySecret: Type.Optional(NullableString),
})
export type Snapshot = Static<typeof Snapshot>

export const snapshot = compileValidator(Snapshot)
