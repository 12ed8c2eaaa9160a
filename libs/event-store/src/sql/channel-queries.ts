import { createHash } from 'node:crypto'
import { type ChannelRule, channelRules, type Entry } from '@waymark/domain/analytics'
import type { Dialect } from './dialect.ts'

/** A number for the rules of channels, by which days are derived again when these have changed. */
export const CHANNEL_RULES =
  createHash('md5').update(JSON.stringify(channelRules)).digest().readUInt32BE() >>> 1

/** A text without `www.` before it, in lower case. */
export const hostText = (host: string): string =>
  `CASE WHEN ${host} LIKE 'www.%' THEN substring(${host}, 5) ELSE ${host} END`

/** Visits without a campaign, which are the most, need not be compared with the rules of campaigns. */
export const channelText = (dialect: Dialect, entry: Record<keyof Entry, string>): string => {
  const campaign = `coalesce(${entry.source}, ${entry.medium}, ${entry.campaign}, ${entry.click})`
  const ofHost = channelRules.filter(({ field }) => field === 'host')
  return `CASE WHEN ${campaign} IS NOT NULL THEN ${firstMatch(dialect, channelRules, entry)}
    WHEN ${entry.host} IS NULL THEN 'direct' ELSE ${firstMatch(dialect, ofHost, entry)} END`
}

const firstMatch = (
  dialect: Dialect,
  rules: readonly ChannelRule[],
  entry: Record<keyof Entry, string>,
): string =>
  `CASE ${rules
    .map(({ channel, field, pattern }) =>
      pattern === '.'
        ? `WHEN ${entry[field]} <> '' THEN '${channel}'`
        : `WHEN ${dialect.matches(`coalesce(${entry[field]}, '')`, pattern)} THEN '${channel}'`,
    )
    .join(' ')} ELSE 'direct' END`
