import {
  type DecisionDefinition,
  type DecisionStatus,
  decisionStatuses,
  type RuleStates,
} from '@waymark/contracts/decision-definition'
import type { SegmentCondition } from '@waymark/contracts/http/segments'
import type { LoyaltyProgramme } from '@waymark/contracts/loyalty'
import type { ProjectSettings } from '@waymark/contracts/project-settings'
import { compileValidator } from '@waymark/contracts/validator'
import type { Pool } from 'pg'
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
  // Absent in copies of earlier versions.
  states: Type.Optional(Type.Unsafe<RuleStates | null>({ type: ['object', 'null'] })),
})
const Trigger = Type.Object({
  id: Type.String(),
  eventName: Type.String(),
  filter: Type.Unknown(),
  cooldownSeconds: Type.Integer(),
  activatedAt: Type.String(),
})

const Segment = Type.Object({
  key: Type.String(),
  // Checked when it is compiled, as a decision.
  condition: Type.Unsafe<SegmentCondition>({ type: 'object' }),
})

/** A project's configuration as stored and cached. Its settings are validated when they are used. */
const Snapshot = Type.Object({
  projectId: Type.String(),
  tenantId: Type.String(),
  settings: Type.Unsafe<ProjectSettings>({ type: 'object' }),
  definitions: Type.Unsafe<Record<string, object>>({ type: 'object', additionalProperties: JsonObject }),
  selectors: Type.Array(Selector),
  decisions: Type.Array(Decision),
  segments: Type.Array(Segment),
  triggers: Type.Array(Trigger),
  loyaltyProgrammes: Type.Array(Type.Unsafe<LoyaltyProgramme>({ type: 'object' })),
  /** Absent in copies, because secrets must not get into the shared cache. */
  identitySecret: Type.Optional(NullableString),
})
export type Snapshot = Static<typeof Snapshot>

export const snapshot = compileValidator(Snapshot)

// One statement, for a consistent snapshot.
const SELECT = `
  SELECT p.tenant_id AS "tenantId", p.settings,
    (SELECT secret FROM core.identity_secrets s WHERE s.project_id = p.id) AS "identitySecret",
    (SELECT coalesce(jsonb_object_agg(d.name, d.schema), '{}') FROM core.event_definitions d
      WHERE d.project_id = p.id AND d.archived_at IS NULL) AS definitions,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'eventName', s.event_name, 'filter', s.filter,
        'amountProperty', s.amount_property, 'currencyProperty', s.currency_property,
        'quantityProperty', s.quantity_property) ORDER BY s.id), '[]') FROM core.metering_selectors s
      WHERE s.project_id = p.id AND s.archived_at IS NULL) AS selectors,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'eventName', t.event_name, 'filter', t.filter,
        'cooldownSeconds', t.cooldown_seconds, 'activatedAt', t.activated_at) ORDER BY t.id), '[]')
      FROM email.triggers t WHERE t.project_id = p.id AND t.status = 'active') AS triggers,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'key', d.key, 'status', d.status, 'version', d.version,
        'definition', d.definition, 'states', d.states) ORDER BY d.id), '[]') FROM decision.decisions d
      WHERE d.project_id = p.id) AS decisions,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('key', s.key, 'condition', s.condition) ORDER BY s.id), '[]')
      FROM decision.segments s WHERE s.project_id = p.id) AS segments,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'key', l.key, 'status', l.status, 'rules', l.rules,
        'expiryMonths', l.expiry_months, 'spending', l.spending, 'tiers', l.tiers) ORDER BY l.id), '[]')
      FROM coupon.loyalty_programmes l WHERE l.project_id = p.id AND l.status <> 'archived') AS "loyaltyProgrammes"
  FROM core.projects p WHERE p.id = $1 AND p.archived_at IS NULL`

/** The configuration of a project; undefined when it is archived or unknown. @throws what the database throws */
export const readSnapshot = async (pool: Pool, projectId: string): Promise<Snapshot | undefined> => {
  const { rows } = await pool.query<Omit<Snapshot, 'projectId'>>({
    name: 'project-config',
    text: SELECT,
    values: [projectId],
  })
  return rows[0] && { projectId, ...rows[0] }
}
