import { stringify } from 'safe-stable-stringify'

/** Canonical JSON: equal JSON values have the same text, because members are sorted. */
export const canonicalJson = (value: unknown): string => stringify(value) ?? 'null'
