/**
 * The present in SQL, rounded as a column of milliseconds rounds what it stores. Compared with `now()`, a time of now can be
 * half a millisecond in the future.
 */
export const NOW = 'now()::timestamptz(3)'
