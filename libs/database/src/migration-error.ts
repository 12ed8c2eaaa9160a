/** The database does not match the migrations of this version. The message says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

/** The database lacks migrations of this version. Another process may be applying them. */
export class MigrationsPendingError extends MigrationError {
  override name = 'MigrationsPendingError'
}
