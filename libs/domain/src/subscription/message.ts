import { minorUnitDigits } from '@waymark/contracts/currency'
import { escapeHtml, numberText, signedText } from '../text/index.ts'

/** A number of a period and of the period before. Null where there is nothing that it could be computed from. */
export type ReportFigure = {
  label: string
  value: number | null
  before: number | null
  /** `share`: from 0 to 1. `money`: in minor units of the currency. */
  format: 'number' | 'share' | 'money'
  currency: string | null
}

/** An insight of the dashboard. */
export type ReportTile = {
  name: string
  figures: readonly ReportFigure[]
  /** Why it could not be measured. */
  problem: string | null
  /** Bars of the period as a PNG in base64, with a text for those who do not see it. */
  picture: { png: string; alt: string } | null
}

/** What an email of a subscription says about a period. */
export type ReportMessage = {
  subscription: string
  dashboard: string
  /** The name of the project. */
  project: string
  frequency: 'day' | 'week' | 'month'
  timeZone: string
  /** The period, RFC 3339; the end is exclusive. */
  from: string
  to: string
  tiles: readonly ReportTile[]
  /** Insights of the dashboard that are left out. */
  moreTiles: number
  isTest: boolean
  /** Of the dashboard in the console. */
  address: string
}

/** The width and height, in pixels, at which pictures are shown. They are drawn with twice as many. */
export const PICTURE_SIZE = { width: 560, height: 96 }

/** The subject of an email of a subscription. */
export const reportSubject = (message: ReportMessage): string =>
  `${message.isTest ? '[Test] ' : ''}${message.subscription} (${message.project}): ${periodText(message)}`

/** The pictures of an email, with the content ids that its HTML refers to. */
export const reportPictures = ({ tiles }: ReportMessage): { cid: string; png: Buffer }[] =>
  tiles.flatMap(({ picture }, index) =>
    picture ? [{ cid: pictureId(index), png: Buffer.from(picture.png, 'base64') }] : [],
  )

/** The plain text of an email of a subscription. */
export const reportText = (message: ReportMessage, unsubscribeUrl: string): string => {
  const tiles = message.tiles.map(({ name, figures, problem, picture }) =>
    [
      name,
      ...linesOf({ figures, problem }).map((line) => `  ${line}`),
      ...(picture ? [`  ${picture.alt}`] : []),
    ].join('\n'),
  )
  return `${[
    `${message.dashboard} of ${message.project}\n${comparisonText(message)}`,
    ...tiles,
    ...moreText(message),
    `Open the dashboard: ${message.address}`,
    `Unsubscribe: ${unsubscribeUrl}`,
  ].join('\n\n')}\n`
}

/** The HTML of an email of a subscription. It sets no colour of text or ground, so that it fits light and dark clients. */
export const reportHtml = (message: ReportMessage, unsubscribeUrl: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(reportSubject(message))}</title>
<style>:root { color-scheme: light dark; }</style>
</head>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: ${PICTURE_SIZE.width}px; margin: 0 auto; padding: 16px">
<h1 style="font-size: 22px; margin: 0">${escapeHtml(message.dashboard)}</h1>
<p style="margin: 0 0 24px">${escapeHtml(message.project)} · ${escapeHtml(comparisonText(message))}</p>
${message.tiles.map(tileHtml).join('\n')}
${moreText(message)
  .map((text) => `<p>${escapeHtml(text)}</p>`)
  .join('')}
<p><a href="${escapeHtml(message.address)}">Open the dashboard</a></p>
<p style="font-size: 13px; border-top: 1px solid #888888; padding-top: 8px">You get this email because of the subscription
${escapeHtml(message.subscription)}. <a href="${escapeHtml(unsubscribeUrl)}">Unsubscribe</a></p>
</body>
</html>
`

const tileHtml = ({ name, figures, problem, picture }: ReportTile, index: number): string => {
  const rows = figures.map(
    (figure) =>
      `<tr><th scope="row" style="text-align: left; font-weight: normal">${escapeHtml(figure.label)}</th>` +
      `<td style="text-align: right; font-weight: bold; padding: 0 12px">${escapeHtml(valueText(figure, figure.value))}</td>` +
      `<td style="text-align: right">${escapeHtml(changeText(figure))}</td></tr>`,
  )
  const table = rows.length > 0 ? `<table width="100%" cellpadding="0">${rows.join('')}</table>` : ''
  const note = noteOf({ figures, problem })
  const image = picture
    ? `<img src="cid:${pictureId(index)}" width="${PICTURE_SIZE.width}" height="${PICTURE_SIZE.height}" ` +
      `alt="${escapeHtml(picture.alt)}" style="display: block; width: 100%; height: auto; margin-top: 8px">`
    : ''
  return (
    `<h2 style="font-size: 17px; margin: 0">${escapeHtml(name)}</h2>` +
    `${note === undefined ? '' : `<p style="margin: 0">${escapeHtml(note)}</p>`}` +
    `${table}${image}<div style="height: 24px"></div>`
  )
}

const pictureId = (index: number): string => `picture-${index}@waymark`

type Measured = Pick<ReportTile, 'figures' | 'problem'>

const linesOf = (tile: Measured): string[] => {
  const note = noteOf(tile)
  if (note !== undefined) return [note]
  return tile.figures.map((figure) => {
    const change = changeText(figure)
    return `${figure.label}: ${valueText(figure, figure.value)}${change === '' ? '' : ` (${change})`}`
  })
}

const noteOf = ({ figures, problem }: Measured): string | undefined => {
  if (problem !== null) return `It could not be measured: ${problem}`
  return figures.length === 0 ? 'It has no single figure: open the dashboard to see it.' : undefined
}

const valueText = ({ format, currency }: ReportFigure, value: number | null): string => {
  if (value === null) return 'no data'
  if (format === 'share') return `${(value * 100).toFixed(1)} %`
  if (format === 'number' || currency === null) return numberText(value)
  const digits = minorUnitDigits(currency)
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return `${(value / 10 ** digits).toLocaleString('en-US', decimals)} ${currency}`
}

/** What changed, such as `+20.0 %, 100 before`. A share changes by points. */
const changeText = (figure: ReportFigure): string => {
  const { value, before, format } = figure
  if (before === null) return value === null ? '' : 'no data before'
  const was = `${valueText(figure, before)} before`
  if (value === null) return was
  if (format === 'share') return `${signedText((value - before) * 100)} points, ${was}`
  // Nothing can be compared with 0 in percent.
  return before === 0 ? was : `${signedText(((value - before) / Math.abs(before)) * 100)} %, ${was}`
}

const comparisonText = (message: ReportMessage): string =>
  `${periodText(message)}, compared with the ${message.frequency} before (${message.timeZone})`

const moreText = ({ moreTiles }: ReportMessage): string[] =>
  moreTiles === 0 ? [] : [`The dashboard has ${moreTiles} more ${moreTiles === 1 ? 'insight' : 'insights'}.`]

/** Such as `Friday 27 November 2026`, `23 November 2026 to 29 November 2026` or `November 2026`. */
const periodText = ({ frequency, timeZone, from, to }: ReportMessage): string => {
  const format = (at: number, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-GB', { ...options, timeZone }).format(at)
  const [start, last] = [Date.parse(from), Date.parse(to) - 1]
  switch (frequency) {
    case 'day':
      return `${format(start, { weekday: 'long' })} ${format(start, { dateStyle: 'long' })}`
    case 'week':
      return `${format(start, { dateStyle: 'long' })} to ${format(last, { dateStyle: 'long' })}`
    case 'month':
      return format(start, { month: 'long', year: 'numeric' })
  }
}
