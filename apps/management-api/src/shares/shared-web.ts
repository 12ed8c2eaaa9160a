import { MIN_SHARED_PEOPLE, sharedWebOperators, sharedWebProperties } from '@waymark/contracts/http/shares'
import {
  DEFAULT_WEB_ROWS,
  MAX_WEB_ROWS,
  type WebFigures,
  type WebRequest,
  type WebView,
} from '@waymark/contracts/http/web-analytics'
import type { QueryStore } from '../analytics/run-queries.ts'
import { answerWeb, readWeb } from '../analytics/web.ts'
import { unprocessable } from '../http/validation.ts'

const isOneOf = (names: readonly string[], name: string): boolean => names.includes(name)

/**
 * Reads a query of a visitor about visits. Its answer has no page, source or campaign of few visitors.
 * @throws AppError unprocessable with the invalid field, such as a filter that might tell whether a person exists
 */
export const readSharedWeb = (request: WebRequest) => {
  for (const [index, { property, op }] of (request.filters ?? []).entries()) {
    if (!isOneOf(sharedWebProperties, property))
      throw unprocessable(
        `filters.${index}.property`,
        'property',
        `must be one of ${sharedWebProperties.join(', ')}`,
        property,
      )
    if (!isOneOf(sharedWebOperators, op))
      throw unprocessable(`filters.${index}.op`, 'op', `must be ${sharedWebOperators.join(' or ')}`, op)
  }
  // All rows that there may be, because entry and exit pages are compared with the pages.
  const plan = readWeb({ ...request, limit: MAX_WEB_ROWS })
  return {
    ...plan.period,
    answer: async (queryStore: QueryStore, projectId: string, now: number): Promise<WebView> => {
      const view = await answerWeb(queryStore, projectId, plan, now)
      return withoutRareRows(withoutRareFilters(view, request), request.limit ?? DEFAULT_WEB_ROWS)
    },
  }
}

/** Values that may name somebody, by how many of what a row needs to be shown. */
const COUNTED_BY: Readonly<Record<string, 'visitors' | 'visits'>> = {
  'context.path': 'visitors',
  'visit.entryPage': 'visitors',
  'visit.exitPage': 'visitors',
  'visit.source': 'visits',
  'visit.campaign': 'visits',
}
const NOTHING: WebFigures = { visitors: 0, visits: 0, views: 0, bounceRate: 0, visitSeconds: 0 }

/** A filter by a value that is not shown answers as by one that does not exist, in each of the two ranges. */
const withoutRareFilters = (view: WebView, { filters = [] }: WebRequest): WebView => {
  const isRare = (totals: WebFigures): boolean =>
    filters.some(({ property, op }) => {
      const counted = COUNTED_BY[property]
      return op === 'eq' && counted !== undefined && totals[counted] < MIN_SHARED_PEOPLE
    })
  const none = (series: readonly WebFigures[]): WebFigures[] => series.map(() => NOTHING)
  const { previousTotals, previousSeries = [] } = view
  return {
    ...view,
    ...(isRare(view.totals) && { ...NO_ROWS, totals: NOTHING, series: none(view.series) }),
    ...(previousTotals &&
      isRare(previousTotals) && { previousTotals: NOTHING, previousSeries: none(previousSeries) }),
  }
}

const NO_ROWS = {
  pages: [],
  entryPages: [],
  exitPages: [],
  channels: [],
  sources: [],
  campaigns: [],
  countries: [],
  browsers: [],
  operatingSystems: [],
  devices: [],
  goals: [],
}

const withoutRareRows = (view: WebView, limit: number): WebView => {
  const pages = view.pages.filter(({ visitors }) => visitors >= MIN_SHARED_PEOPLE)
  const shown = new Set(pages.map(({ value }) => value))
  const first = <Row>(rows: readonly Row[]): Row[] => rows.slice(0, limit)
  const frequent = <Row extends { value: string | null; visits: number }>(rows: readonly Row[]): Row[] =>
    first(rows.filter(({ value, visits }) => value === null || visits >= MIN_SHARED_PEOPLE))
  const ofShownPages = (rows: WebView['entryPages']) => frequent(rows.filter(({ value }) => shown.has(value)))
  return {
    ...view,
    pages: first(pages),
    entryPages: ofShownPages(view.entryPages),
    exitPages: ofShownPages(view.exitPages),
    channels: first(view.channels),
    sources: frequent(view.sources),
    campaigns: frequent(view.campaigns),
    countries: first(view.countries),
    browsers: first(view.browsers),
    operatingSystems: first(view.operatingSystems),
    devices: first(view.devices),
  }
}
