/** The table engines: for one server, or replicated on every server of a cluster. */
export type ClickHouseLayout = {
  /** The cluster's name in `remote_servers`, for replicated tables. */
  cluster?: string | undefined
}

/** The precedence of an erased event over each of its earlier rows and any repeat. */
export const ERASED_PRECEDENCE = '18446744073709551615'
/** The precedence of an event over each row that was stored in the order of time. */
export const COMPLETE_PRECEDENCE = '9223372036854775807'

const onClusterOf = ({ cluster }: ClickHouseLayout): string =>
  cluster === undefined ? '' : `ON CLUSTER '${cluster}'`

/** Creates the database whose name is the parameter `name`. */
export const createDatabase = (layout: ClickHouseLayout): string =>
  `CREATE DATABASE IF NOT EXISTS {name:Identifier} ${onClusterOf(layout)}`

/**
 * The migrations. All of them run each time, so that each must be repeatable.
 * Of the rows with the same sorting key, the one with the highest precedence counts. For events the server's clock
 * decides, so that a repeated event does not replace the stored one.
 */
export const migrationsOf = (layout: ClickHouseLayout): readonly string[] => {
  const { cluster } = layout
  const onCluster = onClusterOf(layout)
  const engine = (version: string): string =>
    cluster === undefined ? `ReplacingMergeTree(${version})` : `ReplicatedReplacingMergeTree(${version})`
  return [
    `CREATE TABLE IF NOT EXISTS events ${onCluster} (
      project_id UUID,
      event_key UUID,
      "time" DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
      event_name LowCardinality(String),
      profile_id Nullable(UUID),
      visitor_id Nullable(String),
      user_id Nullable(String),
      session_id Nullable(String),
      bot Bool,
      browser LowCardinality(Nullable(String)),
      os LowCardinality(Nullable(String)),
      device LowCardinality(Nullable(String)),
      country LowCardinality(Nullable(String)),
      city LowCardinality(Nullable(String)),
      path Nullable(String),
      referrer_host LowCardinality(Nullable(String)),
      utm_source LowCardinality(Nullable(String)),
      utm_medium LowCardinality(Nullable(String)),
      utm_campaign LowCardinality(Nullable(String)),
      utm_term LowCardinality(Nullable(String)),
      utm_content LowCardinality(Nullable(String)),
      link LowCardinality(Nullable(String)),
      link_campaign LowCardinality(Nullable(String)),
      warnings UInt32,
      conversions Array(Tuple(selector_id UUID, amount Nullable(Int64), currency Nullable(String))),
      properties String CODEC(ZSTD(3)),
      erased Bool,
      precedence UInt64 DEFAULT 9223372036854775807 - toUnixTimestamp64Micro(now64(6)),
      INDEX event_keys event_key TYPE bloom_filter GRANULARITY 4
    )
    ENGINE = ${engine('precedence')}
    PARTITION BY toYYYYMM("time")
    ORDER BY (project_id, event_name, "time", event_key)`,
    // Rows of earlier versions have none of these, and 0 as the time of receipt, until they are completed.
    `ALTER TABLE events ${onCluster}
      ADD COLUMN IF NOT EXISTS received_at DateTime64(3, 'UTC') DEFAULT 0 CODEC(Delta, ZSTD),
      ADD COLUMN IF NOT EXISTS browser_version LowCardinality(Nullable(String)),
      ADD COLUMN IF NOT EXISTS os_version LowCardinality(Nullable(String)),
      ADD COLUMN IF NOT EXISTS referrer Nullable(String) CODEC(ZSTD),
      ADD COLUMN IF NOT EXISTS details String CODEC(ZSTD(3)),
      ADD COLUMN IF NOT EXISTS click_id LowCardinality(Nullable(String)),
      ADD INDEX IF NOT EXISTS receipts received_at TYPE minmax GRANULARITY 1,
      ADD INDEX IF NOT EXISTS profile_ids profile_id TYPE bloom_filter GRANULARITY 1`,
    `CREATE TABLE IF NOT EXISTS profiles ${onCluster} (
      project_id UUID,
      profile_id UUID,
      merged_into Nullable(UUID),
      traits String CODEC(ZSTD(3)),
      version UInt64
    )
    ENGINE = ${engine('version')}
    ORDER BY (project_id, profile_id)`,
    `CREATE TABLE IF NOT EXISTS visit_parts ${onCluster} (
      project_id UUID,
      day Int32,
      build Int64,
      visitor UUID,
      session UUID,
      is_open Bool,
      began DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
      ended DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
      views UInt32,
      converted UInt8,
      first_view DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
      first_key UUID,
      last_view DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
      last_key UUID,
      path Nullable(String),
      referrer_host LowCardinality(Nullable(String)),
      utm_source LowCardinality(Nullable(String)),
      utm_medium LowCardinality(Nullable(String)),
      campaign LowCardinality(Nullable(String)),
      click_id LowCardinality(Nullable(String)),
      country LowCardinality(Nullable(String)),
      browser LowCardinality(Nullable(String)),
      os LowCardinality(Nullable(String)),
      device LowCardinality(Nullable(String)),
      channel LowCardinality(String),
      exit_path Nullable(String),
      paths Array(String),
      conversions Array(Tuple(selector_id UUID, amount Nullable(Int64), currency Nullable(String)))
    )
    ENGINE = ${cluster === undefined ? 'MergeTree' : 'ReplicatedMergeTree'}
    ORDER BY (project_id, day, visitor)`,
    // The latest version counts; its build is 0 when the events of the day were removed.
    `CREATE TABLE IF NOT EXISTS visit_days ${onCluster} (
      project_id UUID, day Int32, build Int64, rules Int32, version Int64 DEFAULT toUnixTimestamp64Micro(now64(6))
    )
    ENGINE = ${engine('version')}
    ORDER BY (project_id, day)`,
    `CREATE TABLE IF NOT EXISTS visit_changes ${onCluster} (
      project_id UUID, day Int32, visitor UUID, version Int64 DEFAULT toUnixTimestamp64Micro(now64(6))
    )
    ENGINE = ${engine('version')}
    ORDER BY (project_id, day, visitor)`,
  ]
}
