/**
 * The privileges of each service by table, in the syntax of GRANT. A
 * statement that locks rows (FOR UPDATE, FOR KEY SHARE) needs UPDATE on one column at least; ON CONFLICT … DO UPDATE and
 * RETURNING need SELECT. A service whose SQL changes may need a change here: the distributed end-to-end test and
 * `libs/database/tests/service-roles.test.ts` run under these roles.
 */
type Grants = Readonly<Record<string, string>>

/** Every process checks the migrations and polls for changed configuration. */
const PROCESS: Grants = {
  'public._prisma_migrations': 'SELECT',
  'core.config_changes': 'SELECT',
}

/** The configuration of projects, as libs/project-config reads it. */
const CONFIG: Grants = {
  ...PROCESS,
  'core.projects': 'SELECT',
  'core.identity_secrets': 'SELECT',
  'core.event_definitions': 'SELECT',
  'core.metering_selectors': 'SELECT',
  'email.triggers': 'SELECT',
  'decision.decisions': 'SELECT',
  'decision.segments': 'SELECT',
  'coupon.loyalty_programmes': 'SELECT',
}

/** Requests with an API key. */
const API_KEYS: Grants = { 'core.api_keys': 'SELECT, UPDATE (last_used_at)' }

/** Finding profiles, and creating those that are missing. */
const RESOLVE_PROFILES: Grants = {
  'ingest.identities': 'SELECT, INSERT',
  'ingest.profiles': 'SELECT, INSERT',
  'ingest.erasures': 'SELECT',
}

/** Merging profiles and writing traits. */
const IDENTIFY: Grants = {
  'core.projects': 'SELECT',
  'ingest.identities': 'SELECT, INSERT, UPDATE',
  'ingest.profiles': 'SELECT, INSERT, UPDATE',
  'ingest.outbox': 'INSERT',
  'ingest.erasures': 'SELECT',
  'ingest.conversions': 'SELECT, UPDATE (attribution)',
  'link.links': 'SELECT (id, project_id, domain_id, code, campaign, variant_keys, variants_since)',
  'link.daily_conversions': 'SELECT, INSERT, UPDATE',
  'link.daily_variant_conversions': 'SELECT, INSERT, UPDATE',
}

/** Writing movements of points. The ledger only grows. A trigger writes the sums. */
const MOVE_POINTS: Grants = {
  // Locking an account needs UPDATE on any column.
  'coupon.point_accounts': 'SELECT, INSERT, UPDATE (profile_id)',
  'coupon.point_movements': 'SELECT, INSERT',
  'coupon.point_entries': 'SELECT, INSERT',
  'coupon.point_lots': 'SELECT',
  'coupon.point_reversals': 'SELECT',
}

/** Storing events in both stores, with what follows from them. */
const STORE_EVENTS: Grants = {
  ...IDENTIFY,
  ...MOVE_POINTS,
  'ingest.event_ids': 'SELECT, INSERT',
  // For processes of the previous version during an upgrade.
  'ingest.events': 'SELECT, INSERT',
  'ingest.conversions': 'SELECT, INSERT, UPDATE (attribution)',
  'decision.counted_events': 'SELECT',
  'decision.profile_event_counts': 'SELECT, INSERT, UPDATE',
  // Events of a person who is erased meanwhile leave the queue again.
  'ingest.archive_queue': 'SELECT, INSERT, DELETE',
}

/** Deleting the data of erased people. */
const PURGE: Grants = {
  'ingest.erasure_jobs': 'SELECT, UPDATE (id), DELETE',
  'ingest.erasure_records': 'SELECT, UPDATE (removed, removed_at)',
  'ingest.archive_queue': 'SELECT, DELETE',
  'ingest.events': 'SELECT, DELETE',
  'ingest.conversions': 'SELECT, UPDATE (event_id, visitor_id, user_id, profile_id, attribution)',
  'ingest.rejected_events': 'SELECT, DELETE',
  'ingest.dead_letters': 'SELECT, DELETE',
  'ingest.outbox': 'SELECT, DELETE',
  'ingest.profiles': 'SELECT',
  'ingest.identities': 'SELECT',
  'link.clicks': 'SELECT, UPDATE (ip, user_agent, referrer)',
  'decision.exposures': 'SELECT, DELETE',
  'decision.profile_event_counts': 'SELECT, DELETE',
  'coupon.pools': 'SELECT',
  'coupon.coupons': 'SELECT, UPDATE (assigned_profile_id)',
  'coupon.assignments': 'SELECT, DELETE',
  'coupon.redemptions':
    'SELECT, UPDATE (profile_id, visitor_id, user_id, order_id, event_id, metadata, rollback_reason, items)',
  'coupon.attempts': 'SELECT, DELETE',
  'coupon.profile_counts': 'SELECT, DELETE',
  'coupon.holds': 'SELECT, UPDATE (profile_id, visitor_id, user_id, cart, expires_at)',
  'coupon.idempotency_keys': 'SELECT, UPDATE (body)',
  'coupon.card_movements': 'SELECT, UPDATE (profile_id, visitor_id, user_id, order_id, reason)',
  'coupon.point_accounts': 'SELECT, UPDATE (profile_id)',
  'coupon.point_movements': 'SELECT, UPDATE (order_id, reason)',
  'coupon.point_entries': 'SELECT',
  'coupon.loyalty_programmes': 'SELECT',
  'email.triggers': 'SELECT',
  'email.suppressions': 'SELECT, UPDATE (detail)',
  'email.deliveries':
    'SELECT, UPDATE (profile_id, recipient, context, reason, event_id, next_attempt_at, attempt_token, status)',
  'email.cooldowns': 'SELECT, DELETE',
  'webhook.webhooks': 'SELECT (id, project_id)',
  'webhook.deliveries': 'SELECT (id, project_id, webhook_id, topic, message_key, profile_id), DELETE',
}

/** Assigning a coupon to a profile. Locking the profile needs UPDATE on any column. */
const ASSIGN_COUPON: Grants = {
  'ingest.profiles': 'SELECT, UPDATE (updated_at)',
  'coupon.pools': 'SELECT',
  'coupon.pool_counts': 'SELECT',
  'coupon.coupons': 'SELECT, UPDATE (status, assigned_profile_id, assigned_at)',
  'coupon.assignments': 'SELECT, INSERT',
}

/** All privileges of several groups. */
const merge = (...groups: readonly Grants[]): Grants => {
  const merged: Record<string, string> = {}
  for (const [table, privileges] of groups.flatMap(Object.entries<string>))
    merged[table] = merged[table] ? `${merged[table]}, ${privileges}` : privileges
  return merged
}

/** The function that creates the partition of a month, for processes of the previous version during an upgrade. */
const CREATE_PARTITION = 'ingest.create_event_partition(date)'

export type ServiceGrants = { tables: Grants; functions: readonly string[] }

/** The services with a role, and their privileges. Everything else is refused. */
export const serviceGrants = {
  'ingest-gateway': {
    tables: merge(CONFIG, API_KEYS, STORE_EVENTS, {
      'ingest.outbox': 'SELECT, INSERT',
      'ingest.delivery_samples': 'INSERT',
      'link.visitor_salts': 'SELECT, INSERT',
    }),
    functions: [CREATE_PARTITION],
  },
  'enrichment-consumer': { tables: merge(PROCESS, IDENTIFY), functions: [] },
  'persistence-consumer': {
    tables: merge(CONFIG, STORE_EVENTS, PURGE, {
      'ingest.rejected_events': 'INSERT',
      'ingest.dead_letters': 'INSERT',
      'ingest.retention_runs': 'SELECT, INSERT, UPDATE',
      'ingest.event_ids': 'DELETE',
      'ingest.id_removals': 'SELECT, INSERT, UPDATE',
      'ingest.delivery_samples': 'SELECT, UPDATE, DELETE',
      'ingest.delivery_checks': 'SELECT, INSERT, UPDATE, DELETE',
      'ingest.archive_queue': 'SELECT, UPDATE (file_id), DELETE',
      'ingest.archive_files': 'SELECT, INSERT, UPDATE, DELETE',
      'ingest.archive_erasures': 'SELECT, UPDATE (checked_until, due_at), DELETE',
      'ingest.erasure_records': 'UPDATE (archive_files, archive_removed_at)',
      'decision.exposures': 'INSERT, UPDATE',
      'decision.counted_events':
        'UPDATE (completed_at, due_at, counted_at, counted_key, counts_from, passes, counted_person)',
      'link.clicks': 'INSERT',
      'link.daily_visitors': 'SELECT, INSERT, DELETE',
      'link.visitor_salts': 'SELECT, DELETE',
      'link.counts': 'SELECT, INSERT, UPDATE',
      'link.daily_counts': 'SELECT, INSERT, UPDATE',
      'link.daily_breakdowns': 'SELECT, INSERT, UPDATE',
    }),
    functions: [CREATE_PARTITION, 'ingest.event_writes()', 'ingest.remove_moved_month(date, bigint)'],
  },
  'management-api': {
    tables: merge(CONFIG, API_KEYS, PURGE, RESOLVE_PROFILES, ASSIGN_COUPON, MOVE_POINTS, {
      'core.tenants': 'SELECT, INSERT, UPDATE',
      'core.users': 'SELECT, INSERT, UPDATE',
      'core.projects': 'INSERT, UPDATE',
      'core.identity_secrets': 'INSERT, UPDATE',
      'core.project_members': 'SELECT, INSERT, UPDATE, DELETE',
      'core.api_keys': 'INSERT, UPDATE',
      'core.environments': 'SELECT, INSERT, DELETE',
      'core.event_definitions': 'INSERT, UPDATE',
      'core.event_definition_versions': 'SELECT, INSERT',
      'core.metering_selectors': 'INSERT, UPDATE',
      'core.config_changes': 'INSERT',
      'core.sessions': 'SELECT, INSERT, UPDATE, DELETE',
      'core.access_tokens': 'SELECT, INSERT, UPDATE, DELETE',
      'core.second_factors': 'SELECT, INSERT, UPDATE, DELETE',
      'core.recovery_codes': 'SELECT, INSERT, DELETE',
      'core.sign_in_challenges': 'SELECT, INSERT, DELETE',
      'core.oidc_providers': 'SELECT, INSERT, UPDATE, DELETE',
      'core.tenant_domains': 'SELECT, INSERT, UPDATE, DELETE',
      'core.user_identities': 'SELECT, INSERT, UPDATE, DELETE',
      'core.oidc_sign_ins': 'SELECT, INSERT, DELETE',
      'core.oidc_logout_tokens': 'SELECT, INSERT, DELETE',
      'core.sign_in_failures': 'SELECT, INSERT, UPDATE, DELETE',
      'core.invitations': 'SELECT, INSERT, UPDATE',
      'core.audit_log': 'SELECT, INSERT',
      'core.insights': 'SELECT, INSERT, UPDATE, DELETE',
      'core.dashboards': 'SELECT, INSERT, UPDATE, DELETE',
      'core.shares': 'SELECT, INSERT, UPDATE, DELETE',
      'core.annotations': 'SELECT, INSERT, DELETE',
      'core.alerts': 'SELECT, INSERT, UPDATE, DELETE',
      'core.alert_evaluations': 'SELECT, INSERT, DELETE',
      'core.alert_notices': 'SELECT, INSERT',
      'core.subscriptions': 'SELECT, INSERT, UPDATE, DELETE',
      'core.subscription_recipients': 'SELECT, INSERT, UPDATE',
      'core.subscription_reports': 'SELECT, INSERT, DELETE',
      'core.subscription_mails': 'SELECT, INSERT',
      // Only a process that owns its database adds demo data, so this role has nothing to delete.
      'core.demo_data': 'SELECT',
      'ingest.event_ids': 'SELECT',
      'ingest.delivery_samples': 'SELECT',
      'ingest.delivery_checks': 'SELECT',
      'ingest.outbox': 'INSERT',
      'ingest.dead_letters': 'UPDATE (replayed_at)',
      'ingest.rejected_events': 'UPDATE (replayed_at)',
      // An erasure locks and deletes the profile and its ids in the request.
      'ingest.identities': 'UPDATE (profile_id), DELETE',
      'ingest.profiles': 'DELETE',
      'ingest.erasures': 'INSERT, UPDATE',
      'ingest.erasure_jobs': 'INSERT',
      'ingest.erasure_records': 'INSERT',
      'ingest.archive_erasures': 'INSERT',
      'ingest.archive_files': 'SELECT (project_id)',
      'ingest.archive_queue': 'SELECT (project_id)',
      'decision.decisions': 'INSERT, UPDATE',
      'decision.segments': 'INSERT, UPDATE, DELETE',
      'decision.counted_events': 'SELECT, INSERT, DELETE',
      'decision.decision_versions': 'SELECT, INSERT, DELETE',
      'decision.scheduled_changes': 'SELECT, INSERT, UPDATE, DELETE',
      'decision.stop_notices': 'SELECT, INSERT',
      'decision.code_references': 'SELECT, INSERT, DELETE',
      'decision.proposals': 'SELECT, INSERT, UPDATE, DELETE',
      'decision.proposal_reviews': 'SELECT, INSERT, UPDATE, DELETE',
      'decision.proposal_notices': 'SELECT, INSERT',
      'coupon.pools': 'INSERT, UPDATE',
      'coupon.pool_counts': 'INSERT, UPDATE',
      'coupon.coupons': 'INSERT, UPDATE',
      'coupon.hold_items': 'SELECT',
      // The ledger of gift cards only grows. A trigger writes the balances.
      'coupon.card_movements': 'INSERT',
      'coupon.card_entries': 'SELECT, INSERT',
      'coupon.card_balances': 'SELECT',
      'coupon.loyalty_programmes': 'INSERT, UPDATE',
      'coupon.point_reversals': 'INSERT',
      'coupon.redemptions': 'UPDATE (rolled_back_at, rolled_back_amount, budget_charge)',
      'coupon.profile_counts': 'UPDATE (redeemed)',
      'link.domains': 'SELECT, INSERT, UPDATE',
      'link.links': 'SELECT, INSERT, UPDATE',
      'link.counts': 'SELECT',
      'link.project_counts': 'SELECT, INSERT, UPDATE',
      'link.daily_counts': 'SELECT',
      'link.daily_breakdowns': 'SELECT',
      'link.daily_conversions': 'SELECT',
      'link.daily_variant_conversions': 'SELECT',
      'email.triggers': 'INSERT, UPDATE',
      'email.deliveries': 'INSERT, UPDATE',
      'email.suppressions': 'INSERT, UPDATE, DELETE',
      'email.senders': 'SELECT, INSERT, UPDATE, DELETE',
      'email.account_mails': 'SELECT, INSERT, UPDATE, DELETE',
      'webhook.webhooks': 'SELECT, INSERT, UPDATE, DELETE',
      'webhook.deliveries': 'SELECT, INSERT, UPDATE, DELETE',
      'webhook.replays': 'SELECT, INSERT, UPDATE',
    }),
    functions: [],
  },
  'link-redirector': {
    tables: merge(CONFIG, {
      'ingest.outbox': 'SELECT, INSERT',
      'link.domains':
        'SELECT (id, project_id, host, root_url, not_found_url, expired_url, apple_app_site_association, asset_links, ' +
        'verified_at, version)',
      'link.links': 'SELECT',
      'link.counts': 'SELECT',
      'link.visitor_salts': 'SELECT, INSERT',
    }),
    functions: [],
  },
  'coupon-service': {
    tables: merge(CONFIG, API_KEYS, RESOLVE_PROFILES, MOVE_POINTS, {
      // Redeeming locks the profile, which needs UPDATE on any column.
      'ingest.profiles': 'UPDATE (updated_at)',
      'ingest.outbox': 'INSERT',
      'coupon.pools': 'SELECT, UPDATE (generated, size, status, failure, updated_at)',
      'coupon.pool_counts': 'SELECT, UPDATE (redeemed, granted, held, held_amount)',
      // Whether a person is in a segment.
      'decision.profile_event_counts': 'SELECT',
      // Whether a person has ordered.
      'ingest.conversions': 'SELECT (project_id, profile_id, event_name, amount)',
      'coupon.coupons': 'SELECT, INSERT, UPDATE (status, redeemed_at, hold_id, held_until)',
      'coupon.holds': 'SELECT, INSERT, UPDATE (expires_at), DELETE',
      'coupon.hold_items': 'SELECT, INSERT, UPDATE (expires_at)',
      'coupon.hold_counts': 'SELECT, INSERT, UPDATE',
      // What earlier redemptions of an order granted.
      'coupon.redemptions':
        'SELECT (project_id, pool_id, order_id, items, shipping_discount_amount, currency, rolled_back_at), INSERT',
      'coupon.attempts': 'INSERT',
      'coupon.card_movements': 'SELECT, INSERT',
      'coupon.card_entries': 'SELECT, INSERT',
      'coupon.card_balances': 'SELECT',
      'coupon.profile_counts': 'SELECT, INSERT, UPDATE, DELETE',
      'coupon.idempotency_keys': 'SELECT, INSERT, UPDATE, DELETE',
    }),
    functions: [],
  },
  'decision-service': {
    tables: merge(CONFIG, API_KEYS, RESOLVE_PROFILES, ASSIGN_COUPON, {
      'ingest.outbox': 'INSERT',
      'decision.decisions': 'UPDATE (evaluated_on)',
      'decision.profile_event_counts': 'SELECT',
    }),
    functions: [],
  },
  'email-consumer': {
    tables: merge(CONFIG, API_KEYS, {
      'core.tenants': 'SELECT (id, name)',
      'ingest.profiles': 'SELECT',
      'ingest.erasures': 'SELECT',
      'ingest.outbox': 'INSERT',
      'email.deliveries': 'SELECT, INSERT, UPDATE',
      'email.cooldowns': 'SELECT, INSERT, UPDATE',
      'email.suppressions': 'SELECT, INSERT',
      'email.senders': 'SELECT, UPDATE',
      'email.account_mails': 'SELECT, UPDATE (token_hash, token_expires_at, mail_due_at, mail_attempts)',
      'email.hourly_counts': 'SELECT, INSERT, UPDATE, DELETE',
      'core.alert_notices': 'SELECT, UPDATE (due_at, attempts), DELETE',
      'core.subscriptions': 'SELECT (id, project_id, name)',
      'core.subscription_reports': 'SELECT',
      'core.subscription_recipients': 'SELECT, UPDATE (unsubscribed_at)',
      'core.subscription_mails': 'SELECT, UPDATE (status, reason, due_at, attempts, settled_at)',
      'decision.stop_notices': 'SELECT, UPDATE (due_at, attempts), DELETE',
      'decision.proposal_notices': 'SELECT, UPDATE (due_at, attempts), DELETE',
      'decision.stale_notices': 'SELECT, UPDATE (due_at, attempts), DELETE',
      'decision.proposals': 'SELECT (id, project_id, decision_id)',
      'webhook.webhooks':
        'SELECT (id, project_id, url, paused_reason, notice_due_at, notice_recipient, notice_attempts), ' +
        'UPDATE (notice_due_at, notice_recipient, notice_attempts)',
    }),
    functions: [],
  },
  'webhook-dispatcher': {
    tables: merge(CONFIG, API_KEYS, {
      'core.alert_notices': 'SELECT, UPDATE (due_at, attempts), DELETE',
      'ingest.erasures': 'SELECT',
      'webhook.webhooks': 'SELECT, UPDATE, DELETE',
      'webhook.deliveries': 'SELECT, INSERT, UPDATE, DELETE',
      'webhook.replays': 'SELECT, UPDATE',
    }),
    functions: [],
  },
} as const satisfies Record<string, ServiceGrants>

export type ServiceName = keyof typeof serviceGrants
export const serviceNames = Object.keys(serviceGrants) as ServiceName[]

/** The role of a service, such as `waymark_ingest_gateway`. */
export const serviceRole = (service: ServiceName, prefix = 'waymark_'): string =>
  `${prefix}${service.replaceAll('-', '_')}`
