import type { AlertChange } from '@waymark/contracts/records/change-records'
import { numberText, signedText } from '../text/index.ts'

/** What a message about an alert says. */
export type AlertMessage = Pick<
  AlertChange,
  'alertId' | 'name' | 'change' | 'condition' | 'interval' | 'value' | 'expected' | 'deviation'
> & {
  /** The name of the project. */
  project: string
  /** The beginning of the interval, RFC 3339. */
  bucket: string
  /** Of the alert's page in the console. */
  address: string
}

/** The subject of an email about an alert. */
export const alertSubject = ({ name, project, change }: AlertMessage): string =>
  change === 'fired' ? `Alert: ${name} (${project})` : `Resolved: ${name} (${project})`

/** What an alert found, as sentences for people. */
export const alertText = (message: AlertMessage): string => {
  const { value, interval, bucket } = message
  const found = value === null ? 'no data' : numberText(value)
  return `The ${interval} from ${bucket} had ${found}${comparisonOf(message)}. ${meaningOf(message)}`
}

const comparisonOf = ({ condition, expected, deviation }: AlertMessage): string => {
  if (expected === null || deviation === null) return ''
  if (condition.type === 'changedBy')
    return `, after ${numberText(expected)} before: ${signedText(deviation)} %`
  return `; about ${numberText(expected)} was expected (${signedText(deviation)} standard deviations)`
}

const meaningOf = ({ change, condition }: AlertMessage): string => {
  const { type, value: limit = 0, direction = 'either' } = condition
  const way = direction === 'either' ? '' : ` ${direction}`
  const rule = {
    above: `above ${numberText(limit)}`,
    below: `below ${numberText(limit)}`,
    changedBy: `a change${way} by at least ${numberText(limit)} %`,
    unusual: `unusual${way} for the hour and weekday`,
  }[type]
  return change === 'fired' ? `The alert fires when it is ${rule}.` : `It is no longer ${rule}.`
}

/**
 * The body of a Slack incoming webhook. Slack reads `&`, `<` and `>` as markup, so names cannot contain links or mentions.
 * @see https://docs.slack.dev/messaging/formatting-message-text
 */
export const slackMessage = (message: AlertMessage): { text: string } => {
  const { change, name, project, address } = message
  const sign = change === 'fired' ? ':rotating_light: Alert' : ':white_check_mark: Resolved'
  return {
    text: `${sign}: *${escapeSlack(name)}* (${escapeSlack(project)})\n${escapeSlack(alertText(message))}\n<${address}|Open the alert>`,
  }
}

const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
