import type { paths } from '../generated/api.d.ts'

type Post<P extends keyof paths> = paths[P] extends { post: infer O } ? O : never
type Body<P extends keyof paths> =
  Post<P> extends { requestBody?: { content: { 'application/json': infer B } } } ? B : never
type Result<P extends keyof paths> =
  Post<P> extends { responses: { 200: { content: { 'application/json': infer A } } } } ? A : never

type Path<K extends string> = `/api/projects/{projectId}/analytics/${K}`

/** The query of each kind, without its time range. */
export type Queries = {
  trends: Omit<Body<Path<'trends'>>, 'from' | 'to'>
  funnel: Omit<Body<Path<'funnel'>>, 'from' | 'to'>
  retention: Omit<Body<Path<'retention'>>, 'from' | 'to'>
  paths: Omit<Body<Path<'paths'>>, 'from' | 'to'>
}
export type Results = {
  trends: Result<Path<'trends'>>
  funnel: Result<Path<'funnel'>>
  retention: Result<Path<'retention'>>
  paths: Result<Path<'paths'>>
}
export type Kind = keyof Queries
export type TrendSeries = Queries['trends']['series'][number]
export type FunnelStep = Queries['funnel']['steps'][number]
export type Filter = NonNullable<FunnelStep['filters']>[number]
export type FilterValue = Filter['value']
export type Metric = TrendSeries['metric']
export type Interval = Queries['trends']['interval']
