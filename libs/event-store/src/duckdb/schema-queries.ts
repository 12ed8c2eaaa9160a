import type { DuckDBConnection } from '@duckdb/node-api'

/** The migrations; the version of a data file is the number of applied ones. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE events (
    project_id UUID NOT NULL,
    event_key UUID NOT NULL,
    "time" TIMESTAMP NOT NULL,
    event_name VARCHAR NOT NULL,
    profile_id UUID,
    visitor_id VARCHAR,
    user_id VARCHAR,
    session_id VARCHAR,
    bot BOOLEAN NOT NULL,
    browser VARCHAR,
    os VARCHAR,
    device VARCHAR,
    country VARCHAR,
    city VARCHAR,
    path VARCHAR,
    referrer_host VARCHAR,
    utm_source VARCHAR,
    utm_medium VARCHAR,
    utm_campaign VARCHAR,
    utm_term VARCHAR,
    utm_content VARCHAR,
    link VARCHAR,
    link_campaign VARCHAR,
    warnings INTEGER NOT NULL,
    conversions STRUCT(selector_id UUID, amount BIGINT, currency VARCHAR)[] NOT NULL,
    properties JSON NOT NULL,
    erased BOOLEAN NOT NULL
  );
  CREATE TABLE profiles (
    project_id UUID NOT NULL,
    profile_id UUID NOT NULL,
    merged_into UUID,
    traits JSON NOT NULL,
    version BIGINT NOT NULL
  );`,
  // A few texts are compressed by a dictionary, which is much faster to read than compressed UUIDs.
  `
  ALTER TABLE events ALTER project_id TYPE VARCHAR;
  ALTER TABLE profiles ALTER project_id TYPE VARCHAR;`,
  // NULL in rows of earlier versions, until they are completed.
  `
  ALTER TABLE events ADD COLUMN received_at TIMESTAMP;
  ALTER TABLE events ADD COLUMN browser_version VARCHAR;
  ALTER TABLE events ADD COLUMN os_version VARCHAR;
  ALTER TABLE events ADD COLUMN referrer VARCHAR;
  ALTER TABLE events ADD COLUMN details VARCHAR;`,
  // NULL in rows of earlier versions, which do not tell their clicks.
  `ALTER TABLE events ADD COLUMN click_id VARCHAR`,
  `
  CREATE TABLE visit_parts (
    project_id VARCHAR NOT NULL,
    day INTEGER NOT NULL,
    build BIGINT NOT NULL,
    visitor UUID NOT NULL,
    session UUID NOT NULL,
    is_open BOOLEAN NOT NULL,
    began TIMESTAMP NOT NULL,
    ended TIMESTAMP NOT NULL,
    views INTEGER NOT NULL,
    converted INTEGER NOT NULL,
    first_view TIMESTAMP,
    first_key UUID,
    last_view TIMESTAMP,
    last_key UUID,
    path VARCHAR,
    referrer_host VARCHAR,
    utm_source VARCHAR,
    utm_medium VARCHAR,
    campaign VARCHAR,
    click_id VARCHAR,
    country VARCHAR,
    browser VARCHAR,
    os VARCHAR,
    device VARCHAR,
    channel VARCHAR,
    exit_path VARCHAR,
    paths VARCHAR[],
    conversions STRUCT(selector_id UUID, amount BIGINT, currency VARCHAR)[]
  );
  CREATE TABLE visit_days (project_id VARCHAR NOT NULL, day INTEGER NOT NULL, build BIGINT NOT NULL, rules INTEGER NOT NULL);
  CREATE TABLE visit_changes (project_id VARCHAR NOT NULL, day INTEGER NOT NULL, visitor UUID NOT NULL, version BIGINT NOT NULL);`,
]

/**
 * Brings a data file to the newest schema.
 * @throws Error when a newer version of Waymark wrote the file
 */
export const migrate = async (connection: DuckDBConnection): Promise<void> => {
  await connection.run('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)')
  const [row] = (
    await connection.runAndReadAll('SELECT max(version) AS version FROM schema_version')
  ).getRowObjectsJS()
  const version = Number(row?.version ?? 0)
  if (version > migrations.length)
    throw new Error(
      `The analytics file has version ${version}; this version of Waymark knows ${migrations.length}`,
    )
  for (const [index, statements] of migrations.entries()) {
    if (index < version) continue
    await connection.run('BEGIN TRANSACTION')
    await connection.run(statements)
    await connection.run('INSERT INTO schema_version VALUES ($1)', [index + 1])
    await connection.run('COMMIT')
  }
}
