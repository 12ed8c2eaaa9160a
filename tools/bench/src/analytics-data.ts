/** The data of both stores: five projects, 200 event names, people by Zipf's law, 20 properties per event. */
export const FROM = Date.parse('2026-01-01T00:00:00Z')
export const DAYS = 30
export const DAY_MS = 24 * 60 * 60 * 1000
/** The project that is queried: it has six of ten events. */
export const PROJECT = '01900000-0000-7000-8000-000000000001'

const EVENTS_PER_PERSON = 20
export const peopleOf = (events: number): number => Math.max(100, Math.round(events / EVENTS_PER_PERSON))

/** SQL expressions of a store for generating the data. */
type Words = {
  /** A number from 0 to 1, different for each `seed`. */
  random: (seed: number) => string
  text: (number: string) => string
  concat: (...parts: string[]) => string
  uuid: (text: string) => string
  /** A UUID with random bits, as those of real profiles, the same for each `text`. */
  hashedUuid: (text: string) => string
}

const words: Record<'duckdb' | 'clickhouse', Words> = {
  duckdb: {
    random: () => 'random()',
    text: (number) => `trunc(${number})::BIGINT::VARCHAR`,
    concat: (...parts) => `(${parts.join(' || ')})`,
    uuid: (text) => `(${text})::UUID`,
    hashedUuid: (text) => `md5(${text})::UUID`,
  },
  clickhouse: {
    random: (seed) => `randCanonical(${seed})`,
    text: (number) => `toString(toInt64(${number}))`,
    concat: (...parts) => `concat(${parts.join(', ')})`,
    uuid: (text) => `toUUID(${text})`,
    hashedUuid: (text) => `reinterpretAsUUID(MD5(${text}))`,
  },
}

const columnsOf = ({ random, text, concat, uuid, hashedUuid }: Words, people: number) => {
  const up = (count: number, seed: number) => `floor(${random(seed)} * ${count})`
  const property = (n: number) =>
    n % 2 === 0
      ? concat(`'"n${n}":'`, text(up(10_000, 20 + n)))
      : concat(`'"t${n}":"value '`, text(up(50, 20 + n)), `'"'`)
  const properties = Array.from({ length: 18 }, (_, n) => property(n))
  return {
    project_id: uuid(
      concat(`'01900000-0000-7000-8000-00000000000'`, text(`greatest(1, floor(${random(1)} * 10) - 4)`)),
    ),
    event_name: concat(`'event '`, text(`pow(200, ${random(2)})`)),
    profile_id: hashedUuid(text(`pow(${people}, ${random(3)})`)),
    session_id: text(up(1_000_000, 4)),
    details: `'{"context":{"url":"https://shop.example/page"}}'`,
    bot: `${random(5)} < 0.02`,
    browser: concat(`'browser '`, text(up(6, 6))),
    os: concat(`'os '`, text(up(5, 7))),
    device: concat(`'device '`, text(up(3, 8))),
    country: concat(`'C'`, text(`pow(60, ${random(9)})`)),
    path: concat(`'/page/'`, text(`pow(1000, ${random(10)})`)),
    warnings: '0',
    properties: concat(
      `'{"plan":"plan '`,
      text(up(5, 11)),
      `'","price":'`,
      text(up(10_000, 12)),
      ...properties.flatMap((part) => [`','`, part]),
      `'}'`,
    ),
    erased: 'false',
  }
}

const insertEvents = (
  store: 'duckdb' | 'clickhouse',
  { people, keyAndTime, from }: { people: number; keyAndTime: Record<string, string>; from: string },
): string => {
  const columns = { ...columnsOf(words[store], people), ...keyAndTime }
  return `
    INSERT INTO events (${Object.keys(columns)
      .map((name) => `"${name}"`)
      .join(', ')})
    SELECT ${Object.values(columns).join(', ')} FROM ${from}`
}

/** Statements that insert the events `from` to `to` of `events`, spread over the days. */
export const duckdbEvents = (events: number, from: number, to: number): string =>
  insertEvents('duckdb', {
    people: peopleOf(events),
    keyAndTime: {
      event_key: 'gen_random_uuid()',
      time: `epoch_ms((${FROM} + n * ${(DAYS * DAY_MS) / events})::BIGINT)`,
      received_at: `epoch_ms((${FROM} + n * ${(DAYS * DAY_MS) / events})::BIGINT)`,
      conversions: '[]',
    },
    from: `range(${from}, ${to}) AS numbers (n)`,
  })
export const clickhouseEvents = (events: number, from: number, to: number): string =>
  insertEvents('clickhouse', {
    people: peopleOf(events),
    keyAndTime: {
      event_key: 'generateUUIDv4()',
      time: `fromUnixTimestamp64Milli(toInt64(${FROM} + number * ${(DAYS * DAY_MS) / events}), 'UTC')`,
      received_at: `fromUnixTimestamp64Milli(toInt64(${FROM} + number * ${(DAYS * DAY_MS) / events}), 'UTC')`,
    },
    from: `numbers(${from}, ${to - from})`,
  })

/** The project with the visits of a site: five events each on average, by visitors who come back every few days. */
export const WEB_PROJECT = '01900000-0000-7000-8000-000000000009'
/** Twice as long as the range that is queried, because visits are compared with those of the range before. */
export const WEB_DAYS = 2 * DAYS
const EVENTS_PER_VISITOR = 50
const PAGES = 20
/** Visits go on side by side: this many events in a row belong to a fifth as many visits. */
const EVENTS_AT_A_TIME = 500
const VISITS_AT_A_TIME = 100
/** A prime number, so that the visitors of visits one after the other differ. */
const STRIDE = 7_919

const webColumnsOf = ({ random, text, concat, uuid, hashedUuid }: Words, visitors: number) => {
  const visitor = `(visit * ${STRIDE}) % ${visitors}`
  const named = (name: string, count: number) => concat(`'${name} '`, text(`visit % ${count}`))
  const some = (share: number, value: string) => `CASE WHEN visit % 10 < ${share * 10} THEN ${value} END`
  return {
    project_id: uuid(`'${WEB_PROJECT}'`),
    event_name: `CASE WHEN ${random(31)} < 0.75 THEN 'page_view' ELSE 'click' END`,
    // One of ten visitors has no profile, such as those without cookies.
    profile_id: `CASE WHEN ${visitor} % 10 > 0 THEN ${hashedUuid(text(visitor))} END`,
    visitor_id: concat(`'visitor-'`, text(visitor)),
    session_id: concat(`'session-identifier-'`, text('visit')),
    bot: 'false',
    browser: named('browser', 6),
    os: named('os', 5),
    device: named('device', 3),
    country: named('C', 60),
    path: concat(`'/page/'`, text(`pow(${PAGES}, ${random(32)})`)),
    referrer_host: some(0.5, concat(`'host'`, text('visit % 201'), `'.example'`)),
    utm_source: some(0.2, named('source', 21)),
    utm_medium: some(0.2, `'cpc'`),
    utm_campaign: some(0.2, named('campaign', 22)),
    warnings: '0',
    properties: `'{}'`,
    erased: 'false',
  }
}

/** A statement that inserts the events `from` to `to` of `events` of the site, spread over the days. One of 100 is a conversion. */
export const webEvents = (
  store: 'duckdb' | 'clickhouse',
  events: number,
  from: number,
  to: number,
): string => {
  const isDuckDB = store === 'duckdb'
  const at = `${FROM} + n * ${(WEB_DAYS * DAY_MS) / events}`
  const conversion = isDuckDB
    ? `[{ selector_id: '${PROJECT}'::UUID, amount: 4990::BIGINT, currency: 'EUR' }]`
    : `[tuple(toUUID('${PROJECT}'), toNullable(toInt64(4990)), toNullable('EUR'))]`
  const columns = {
    ...webColumnsOf(words[store], Math.max(100, Math.round(events / EVENTS_PER_VISITOR))),
    event_key: isDuckDB ? 'gen_random_uuid()' : 'generateUUIDv4()',
    time: isDuckDB ? `epoch_ms((${at})::BIGINT)` : `fromUnixTimestamp64Milli(toInt64(${at}), 'UTC')`,
    conversions: `CASE WHEN n % 100 = 0 THEN ${conversion} ELSE [] END`,
  }
  const numbers = isDuckDB
    ? `range(${from}, ${to}) AS numbers (n)`
    : `(SELECT number AS n FROM numbers(${from}, ${to - from}))`
  const visit = `floor(n / ${EVENTS_AT_A_TIME}) * ${VISITS_AT_A_TIME} + floor(${words[store].random(30)} * ${VISITS_AT_A_TIME})`
  return `
    INSERT INTO events (${Object.keys(columns)
      .map((name) => `"${name}"`)
      .join(', ')})
    SELECT ${Object.values(columns).join(', ')}
    FROM (SELECT n, ${isDuckDB ? `(${visit})::BIGINT` : `toInt64(${visit})`} AS visit FROM ${numbers}) AS visits`
}

/** Statements that insert merges: one of ten people is merged into the previous one. */
export const mergesOf = (store: 'duckdb' | 'clickhouse', events: number): string => {
  const { uuid, hashedUuid, text } = words[store]
  const n = store === 'duckdb' ? 'n' : 'number'
  const profile = (number: string) => hashedUuid(text(number))
  const count = Math.floor(peopleOf(events) / 10)
  return `
    INSERT INTO profiles (project_id, profile_id, merged_into, traits, version)
    SELECT ${uuid(`'${PROJECT}'`)}, ${profile(`${n} * 10 + 10`)}, ${profile(`${n} * 10 + 9`)}, '{}', 1
    FROM ${store === 'duckdb' ? `range(0, ${count}) AS numbers (n)` : `numbers(${count})`}`
}
