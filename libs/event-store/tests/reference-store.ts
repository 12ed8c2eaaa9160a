import type { EventView } from '@waymark/contracts/http/events'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { channelOf, type EventFilter, fulfils, type PropertyRef, valueAt } from '@waymark/domain/analytics'
import { firstDayOf, isInSegment } from '@waymark/domain/decision'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { clickOf } from '../src/rows.ts'
import type {
  Breakdown,
  EventStore,
  FunnelQuery,
  FunnelRow,
  GoalRow,
  PathRow,
  PropertyRow,
  StoredProfile,
  TrendQuery,
  TrendRow,
  VisitField,
  VisitRow,
  WebQuery,
} from '../src/store.ts'
import { BOUNCE_MS, VISIT_GAP_MS, visitFields } from '../src/store.ts'

type Visit = {
  visitor: string
  values: Record<VisitField, string | null>
  durationMs: number
  pages: (string | null)[]
  conversions: EnrichedEvent['conversions']
  bucket: number
}

type Stored = EnrichedEvent & { erased: boolean }

/** The store as simple as it can be said, over lists: what the others must answer. */
export const createReferenceStore = (): Omit<EventStore, 'queriesUntil'> => {
  let events: Stored[] = []
  let profiles: StoredProfile[] = []

  const profileOf = (projectId: string, id: string | null) =>
    profiles.find((profile) => profile.projectId === projectId && profile.profileId === id)
  const personOf = ({ projectId, profileId }: Stored): string | null =>
    profileOf(projectId, profileId)?.mergedInto ?? profileId

  /** Everyone with traits or events; of merged profiles only the one that they became. */
  const peopleOf = (projectId: string, to = Number.POSITIVE_INFINITY): string[] => {
    const unmerged = profiles.filter((one) => one.projectId === projectId && one.mergedInto === null)
    const isSeen = (event: Stored) =>
      event.projectId === projectId && !event.erased && Date.parse(event.timestamp) < to
    const seen = events.filter(isSeen).map(personOf)
    return [...new Set([...unmerged.map(({ profileId }) => profileId), ...seen])].filter((id) => id !== null)
  }

  const readValue = (event: Stored, ref: PropertyRef): unknown => {
    if (ref.source === 'column') return columnOf(event, ref.column)
    return readPath(
      ref.source === 'properties' ? event.properties : profileOf(event.projectId, personOf(event))?.traits,
      ref,
    )
  }
  const readPath = (from: unknown, ref: PropertyRef): unknown => {
    if (ref.source === 'column') return undefined
    let value = from
    for (const key of ref.path) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
      if (!Object.hasOwn(value, key)) return undefined
      value = (value as Record<string, unknown>)[key]
    }
    return value ?? undefined
  }
  const fits = (event: Stored, filters: readonly EventFilter[]): boolean =>
    filters.every((filter) => fulfils(readValue(event, filter.property), filter))
  const labelOf = (event: Stored, breakdown: Breakdown | undefined, selectorId?: string): string | null => {
    if (!breakdown) return null
    return breakdown.source === 'selector' ? (selectorId ?? null) : textOf(readValue(event, breakdown))
  }
  const inRange = (query: { projectId: string; from: number; to: number; eventName?: string | undefined }) =>
    events.filter((event) => {
      const at = Date.parse(event.timestamp)
      const named = query.eventName === undefined || query.eventName === event.eventName
      return event.projectId === query.projectId && at >= query.from && at < query.to && named
    })

  const trendOf = (query: TrendQuery): TrendRow[] => {
    const conversions = query.metric === 'conversions' || query.metric === 'revenue'
    const found = inRange(query)
      .filter((event) => (query.includeBots || !event.context.bot) && (conversions || !event.erased))
      .filter((event) => fits(event, query.filters))
      .flatMap((event) => {
        const bucket = query.buckets.findLastIndex((at) => at <= Date.parse(event.timestamp))
        const rowsOf = conversions ? event.conversions : [undefined]
        return rowsOf.map((conversion) => ({
          bucket,
          label: labelOf(event, query.breakdown, conversion?.selectorId),
          currency: query.metric === 'revenue' ? (conversion?.currency ?? null) : null,
          value: measured(event, query, conversion),
        }))
      })
      .filter(({ value }) => value !== null && value !== undefined)
    const ranked = ranking(found, (rows) =>
      ['warnings', 'revenue', 'sum'].includes(query.metric)
        ? total(rows.map(({ value }) => value))
        : rows.length,
    )
    const tops = query.breakdown ? (query.groups ?? ranked.slice(0, query.maxGroups)) : [null]
    const grouped = Map.groupBy(found, ({ label, currency }) => {
      const other = !tops.includes(label)
      return JSON.stringify([other ? null : label, other, currency])
    })
    return [...grouped].flatMap(([key, rows]) => {
      const [group, other, currency] = JSON.parse(key)
      const byBucket = Map.groupBy(rows, ({ bucket }) => bucket as number | null)
      return [...byBucket, [null, rows] as const].map(([bucket, of]) => ({
        bucket,
        group,
        other,
        currency,
        value: finite(
          aggregate(
            query.metric,
            of.map(({ value }) => value),
          ),
        ),
      }))
    })
  }
  const measured = (
    event: Stored,
    { metric, property }: TrendQuery,
    conversion: Stored['conversions'][number] | undefined,
  ): unknown => {
    if (metric === 'events' || metric === 'conversions') return 1
    if (metric === 'people')
      return personOf(event) ?? (event.visitorId === null ? null : `visitor ${event.visitorId}`)
    if (metric === 'sessions') return event.sessionId
    if (metric === 'visitors') return event.visitorId ?? event.userId
    if (metric === 'warnings') return event.warnings.length || null
    if (metric === 'revenue') return conversion?.amount ?? null
    const value = property && readValue(event, property)
    return typeof value === 'number' ? value : null
  }

  const funnelOf = (query: FunnelQuery): FunnelRow[] => {
    const { steps, windowMs, order, breakdown } = query
    const matching = inRange({ ...query, to: query.to + windowMs + 1 })
      .filter((event) => !event.context.bot && !event.erased && personOf(event) !== null)
      .map((event) => ({
        event,
        at: Date.parse(event.timestamp),
        key: eventKeyOf(event.eventId),
        is: steps.map((step) => step.eventName === event.eventName && fits(event, step.filters)),
      }))
      .filter(({ is }) => is.includes(true))
      .sort((a, b) => a.at - b.at || a.is.indexOf(true) - b.is.indexOf(true) || (a.key < b.key ? -1 : 1))
    const best = [...Map.groupBy(matching, ({ event }) => personOf(event))].flatMap(([, own]) => {
      const attempts = own.flatMap((first, place) => {
        if (!first.is[0] || first.at >= query.to) return []
        const times = [first.at]
        let last = place
        for (let step = 1; step < steps.length; step++) {
          const next =
            order === 'ordered'
              ? own.findIndex(({ is }, later) => later > last && is[step])
              : own.findIndex(
                  ({ is, at }, other) =>
                    other !== place && at >= first.at && at <= first.at + windowMs && is[step],
                )
          const found = own[next]
          if (!found || found.at > first.at + windowMs) break
          times.push(found.at)
          last = next
        }
        return [{ times, label: labelOf(first.event, breakdown) }]
      })
      attempts.sort(
        (a, b) =>
          b.times.length - a.times.length ||
          (a.times[0] ?? 0) - (b.times[0] ?? 0) ||
          compareLabels(a.label, b.label),
      )
      return attempts.slice(0, 1)
    })
    const tops = breakdown ? ranking(best, (rows) => rows.length).slice(0, query.maxGroups) : [null]
    const grouped = Map.groupBy(best, ({ label }) => {
      const other = !tops.includes(label)
      return JSON.stringify([other ? null : label, other])
    })
    return [...grouped].flatMap(([key, people]) => {
      const [group, other] = JSON.parse(key)
      return steps.flatMap((_, step) => {
        const reached = people.filter(({ times }) => times.length > step)
        if (reached.length === 0) return []
        const gaps = reached.map(({ times }) => (times[step] ?? 0) - (times[step - 1] ?? 0))
        const medianMsFromPrevious = step === 0 || order === 'any' ? null : quantile(gaps, 0.5)
        return [{ group, other, step, people: reached.length, medianMsFromPrevious }]
      })
    })
  }

  const visitsOf = (query: WebQuery): Visit[] => {
    const seen = inRange(query)
      .filter((event) => !event.context.bot && !event.erased)
      .map((event) => ({
        event,
        visitor: personOf(event) ?? event.visitorId,
        at: Date.parse(event.timestamp),
        key: eventKeyOf(event.eventId),
      }))
      .filter(({ visitor }) => visitor !== null)
      .sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1))
    const groups: (typeof seen)[] = []
    for (const one of seen) {
      const own = groups.findLast(
        ([first]) => first?.visitor === one.visitor && first.event.sessionId === one.event.sessionId,
      )
      const isNear = one.event.sessionId !== null || one.at - (own?.at(-1)?.at ?? 0) <= VISIT_GAP_MS
      if (own && isNear) own.push(one)
      else groups.push([one])
    }
    return groups.flatMap((group) => {
      const views = group.filter(({ event }) => event.eventName === 'page_view').map(({ event }) => event)
      const [first] = views
      if (!first || !group.some(({ event }) => fits(event, query.filters))) return []
      const { context } = first
      const began = group[0]?.at ?? 0
      const host = context.referrerHost?.replace(/^www\./, '') || null
      const campaign = context.shortLink?.campaign ?? context.utm.campaign
      const { source, medium } = context.utm
      const entry = { source: source?.toLowerCase() ?? null, medium: medium?.toLowerCase() ?? null }
      const values: Record<VisitField, string | null> = {
        channel: channelOf({ ...entry, click: clickOf(first), campaign, host }),
        source: source ?? host,
        campaign,
        entryPage: context.path,
        exitPage: views.at(-1)?.context.path ?? null,
        country: context.country,
        browser: context.browser,
        os: context.os,
        device: context.device,
      }
      if (!query.visitFilters.every(({ field, filter }) => fulfils(values[field] || null, filter))) return []
      const durationMs = (group.at(-1)?.at ?? 0) - began
      return [
        {
          visitor: group[0]?.visitor ?? '',
          values,
          durationMs,
          pages: views.map(({ context: { path } }) => path),
          conversions: group.flatMap(({ event }) => event.conversions),
          bucket: query.buckets.findLastIndex((at) => at <= began),
        },
      ]
    })
  }
  const visitRow = (kind: VisitRow['kind'], value: string | null, visits: readonly Visit[]): VisitRow => ({
    kind,
    value,
    visits: visits.length,
    visitors:
      kind === 'total' || kind === 'bucket' ? new Set(visits.map(({ visitor }) => visitor)).size : null,
    views: total(visits.map(({ pages }) => pages.length)),
    bounces: visits.filter(({ pages, durationMs }) => pages.length === 1 && durationMs < BOUNCE_MS).length,
    durationMs: total(visits.map(({ durationMs }) => durationMs)),
    converted: visits.filter(({ conversions }) => conversions.length > 0).length,
  })

  const store: ReturnType<typeof createReferenceStore> = {
    measureVisits: async (query) => {
      const visits = visitsOf(query)
      if (visits.length === 0) return []
      const fieldRows = visitFields.flatMap((field) =>
        [...Map.groupBy(visits, ({ values }) => values[field] || null)]
          .map(([value, of]) => visitRow(field, value, of))
          .sort((a, b) => b.visits - a.visits || compareLabels(a.value ?? '', b.value ?? ''))
          .slice(0, query.limit),
      )
      const bucketRows = [...Map.groupBy(visits, ({ bucket }) => bucket)].map(([bucket, of]) =>
        visitRow('bucket', `${bucket}`, of),
      )
      return [visitRow('total', null, visits), ...bucketRows, ...fieldRows]
    },
    measurePages: async (query) => {
      const viewed = visitsOf(query).flatMap(({ visitor, pages }) =>
        pages.map((path) => ({ visitor, path: path || null })),
      )
      return [...Map.groupBy(viewed, ({ path }) => path)]
        .map(([path, of]) => ({
          path,
          visitors: new Set(of.map(({ visitor }) => visitor)).size,
          views: of.length,
        }))
        .sort(
          (a, b) => b.visitors - a.visitors || b.views - a.views || compareLabels(a.path ?? '', b.path ?? ''),
        )
        .slice(0, query.limit)
    },
    measureGoals: async (query) => {
      const goals = visitsOf(query).flatMap(({ values, conversions }, visit) =>
        conversions.flatMap(({ selectorId, amount, currency }) => {
          const kinds = {
            selector: selectorId,
            channel: values.channel,
            source: values.source,
            campaign: values.campaign,
          }
          return Object.entries(kinds).flatMap(([kind, value]) => {
            const goal = { kind: kind as GoalRow['kind'], value: value || null, amount: amount ?? 0, visit }
            return [...(kind === 'selector' ? [null] : []), ...(currency === null ? [] : [currency])].map(
              (one) => ({ ...goal, currency: one }),
            )
          })
        }),
      )
      return [
        ...Map.groupBy(goals, ({ kind, value, currency }) => JSON.stringify([kind, value, currency])),
      ].map(([, of]) => ({
        ...{
          kind: of[0]?.kind ?? 'selector',
          value: of[0]?.value ?? null,
          currency: of[0]?.currency ?? null,
        },
        conversions: of.length,
        visits: new Set(of.map(({ visit }) => visit)).size,
        amount: total(of.map(({ amount }) => amount)),
      }))
    },
    storeEvents: async (given) => {
      for (const event of given) {
        const isKnown = events.some(
          (known) =>
            known.projectId === event.projectId &&
            eventKeyOf(known.eventId) === eventKeyOf(event.eventId) &&
            known.timestamp === event.timestamp,
        )
        if (!isKnown) events.push({ ...event, erased: false })
      }
    },
    deriveVisits: async () => false,
    storeProfiles: async (given) => {
      for (const profile of given) {
        const known = profileOf(profile.projectId, profile.profileId)
        if (known && known.version > profile.version) continue
        profiles = [...profiles.filter((other) => other !== known), profile]
      }
    },
    removeOldestDay: async ({ projectId, before, receivedBefore = Number.POSITIVE_INFINITY }) => {
      const isRemovable = (event: Stored): boolean =>
        event.projectId === projectId &&
        Date.parse(event.timestamp) < before &&
        (event.erased || Date.parse(event.receivedAt) < receivedBefore)
      const times = events.filter(isRemovable).map(({ timestamp }) => timestamp)
      const day = times.sort()[0]?.slice(0, 10)
      events = events.filter((event) => !isRemovable(event) || event.timestamp.slice(0, 10) !== day)
      return day !== undefined
    },
    countByPerson: async ({ projectId, eventName, from, receivedBefore, after = '', people }) => {
      const found = events.filter(
        (event) =>
          !event.erased &&
          event.projectId === projectId &&
          event.eventName === eventName &&
          event.profileId !== null &&
          event.profileId > after &&
          Date.parse(event.timestamp) >= from &&
          Date.parse(event.receivedAt) < receivedBefore,
      )
      const chosen = [...new Set(found.map(({ profileId }) => profileId ?? ''))].sort().slice(0, people)
      const ofChosen = found.filter(({ profileId }) => chosen.includes(profileId ?? ''))
      const days = Map.groupBy(ofChosen, (event) => `${event.profileId} ${event.timestamp.slice(0, 10)}`)
      return [...days].map(([key, of]) => {
        const [profileId = '', day = ''] = key.split(' ')
        return { profileId, day, n: of.length }
      })
    },
    sampleMoments: async (query) => {
      const { projectId, from, to, eventName, countedEvents, countedFrom, maxPeople, maxMoments } = query
      const all = events.flatMap((event) => {
        const [profileId, at, bot] = [personOf(event), Date.parse(event.timestamp), event.context.bot]
        if (event.erased || event.projectId !== projectId || profileId === null || at >= to) return []
        const decides = at >= from && !bot && (eventName === undefined || event.eventName === eventName)
        const counts = at >= countedFrom && countedEvents.includes(event.eventName)
        const key = eventKeyOf(event.eventId)
        return decides || counts ? [{ profileId, at, eventName: event.eventName, bot, decides, key }] : []
      })
      const people = [...Map.groupBy(all, ({ profileId }) => profileId)]
        .filter(([, of]) => of.some(({ decides }) => decides))
        .sort(([a], [b]) => (a < b ? -1 : 1))
      let sum = 0
      const chosen = people.filter(([, of], index) => {
        sum += of.length
        return index === 0 || (index < maxPeople && sum <= maxMoments)
      })
      const moments = chosen
        .flatMap(([, of]) => of.toSorted((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1)))
        .slice(0, maxMoments)
        .map(({ decides: _, key: __, ...moment }) => moment)
      return { people: people.length, moments }
    },
    findEventNames: async (keys) =>
      events
        .map(({ projectId, eventId, eventName }) => ({ projectId, eventKey: eventKeyOf(eventId), eventName }))
        .filter((event) =>
          keys.some(
            ({ projectId, eventKey }) => projectId === event.projectId && eventKey === event.eventKey,
          ),
        ),
    completeEvents: async () => {},
    eraseEvents: async (keys) => {
      const isNamed = ({ projectId, eventId }: Stored) =>
        keys.some((key) => key.projectId === projectId && key.eventKey === eventKeyOf(eventId))
      events = events
        .filter((event) => !isNamed(event) || event.conversions.length > 0)
        .map((event) =>
          isNamed(event)
            ? {
                ...{
                  ...event,
                  erased: true,
                  profileId: null,
                  visitorId: null,
                  userId: null,
                  sessionId: null,
                },
                properties: {},
                context: { ...event.context, city: null, path: null, referrerHost: null },
              }
            : event,
        )
    },
    eraseProfiles: async (keys) => {
      profiles = profiles.filter(
        ({ projectId, profileId }) =>
          !keys.some((key) => key.projectId === projectId && key.profileId === profileId),
      )
    },
    findProfiles: async ({ projectId, filters, emails, below, limit }) =>
      peopleOf(projectId)
        .map((id) => ({ id, traits: profileOf(projectId, id)?.traits ?? {} }))
        .filter(({ traits }) => filters.every((filter) => fulfils(readPath(traits, filter.property), filter)))
        .filter(({ traits }) => {
          const text = textOf(traits.email)?.toLowerCase()
          return emails?.some((email) => text?.startsWith(email.toLowerCase())) ?? true
        })
        .map(({ id }) => id)
        .filter((id) => below === undefined || id < below)
        .sort()
        .reverse()
        .slice(0, limit),
    measureTrend: async (query) => trendOf(query),
    measureFunnel: async (query) => funnelOf(query),
    measureRetention: async ({ startEvent, returnEvent, bounds, cohorts, periods, ...range }) => {
      const end = bounds.at(-1) ?? 0
      const bucketOf = (at: number) => bounds.findLastIndex((bound) => bound <= at)
      const seen = (eventName: string, to: number) =>
        inRange({ ...range, to, eventName })
          .filter((event) => !event.context.bot && !event.erased && personOf(event) !== null)
          .map((event) => ({ person: personOf(event), at: Date.parse(event.timestamp) }))
      const starts = Map.groupBy(seen(startEvent, range.to), ({ person }) => person)
      const returns = seen(returnEvent, end)
      const came = [...starts].flatMap(([person, own]) => {
        const first = Math.min(...own.map(({ at }) => at))
        const cohort = bucketOf(first)
        const back = returns
          .filter((event) => event.person === person && event.at >= first)
          .map(({ at }) => bucketOf(at) - cohort)
        return [null, ...new Set(back)].map((period) => JSON.stringify([cohort, period]))
      })
      return [...Map.groupBy(came, (key) => key)]
        .map(([key, people]) => {
          const [cohort, period] = JSON.parse(key)
          return { cohort, period, people: people.length }
        })
        .filter(({ cohort, period }) => cohort < cohorts && (period === null || period <= periods))
    },
    measurePaths: async ({ startEvent, endEvent, depth, limit, ...range }) => {
      const visited = inRange(range)
        .filter((event) => !event.context.bot && !event.erased && personOf(event) !== null)
        .map((event) => ({
          person: personOf(event),
          session: event.sessionId,
          at: Date.parse(event.timestamp),
          key: eventKeyOf(event.eventId),
          name: event.eventName,
          node: (event.eventName === 'page_view' && event.context.path) || event.eventName,
        }))
        .sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1))
      const links = [
        ...Map.groupBy(visited, ({ person, session }) => JSON.stringify([person, session])).values(),
      ].flatMap((own) => {
        const path = own.filter(({ node }, place) => node !== own[place - 1]?.node)
        const start = startEvent === undefined ? -1 : path.findIndex(({ name }) => name === startEvent)
        const end = path.findIndex(({ name }, place) => name === endEvent && place > start)
        let [origin, last] = [0, depth - 1]
        if (startEvent !== undefined) {
          if (start < 0) return []
          ;[origin, last] = [start, start + depth - 1]
        }
        if (endEvent !== undefined) {
          if (end < 0 || (startEvent !== undefined && end > last)) return []
          last = end
          if (startEvent === undefined) origin = end - depth + 1
        }
        return path.flatMap(({ person, node }, place) => {
          const next = path[place + 1]
          return next && place >= origin && place < last
            ? [{ step: place - origin, source: node, target: next.node, person }]
            : []
        })
      })
      const rows: PathRow[] = [
        ...Map.groupBy(links, ({ step, source, target }) => JSON.stringify([step, source, target])),
      ].map(([key, of]) => {
        const [step, source, target] = JSON.parse(key)
        return { step, source, target, people: new Set(of.map(({ person }) => person)).size }
      })
      return rows
        .sort(
          (a, b) =>
            b.people - a.people ||
            a.step - b.step ||
            compareLabels(a.source, b.source) ||
            compareLabels(a.target, b.target),
        )
        .slice(0, limit)
    },
    listProperties: async ({ limit, ...range }) => {
      const sample = inRange(range).filter((event) => !event.context.bot && !event.erased)
      const pairs = sample.flatMap((event) =>
        Object.entries(event.properties)
          .filter(([, value]) => value !== null)
          .map(([key, value]) => ({ key, type: typeOf(value), at: Date.parse(event.timestamp) })),
      )
      return [...Map.groupBy(pairs, ({ key }) => key)]
        .map(([key, of]) => ({
          key,
          types: [...new Set(of.map(({ type }) => type))].sort() as PropertyRow['types'],
          share: of.length / sample.length,
          lastSeen: Math.max(...of.map(({ at }) => at)),
        }))
        .sort((a, b) => b.share - a.share || compareLabels(a.key, b.key))
        .slice(0, limit)
    },
    measureSegment: async ({ projectId, segment, now, to = Number.POSITIVE_INFINITY, sample }) => {
      const own = events.filter(
        (event) => event.projectId === projectId && !event.erased && Date.parse(event.timestamp) < to,
      )
      const matched = peopleOf(projectId, to).filter((id) => {
        const traits = profileOf(projectId, id)?.traits ?? {}
        const countOf = (eventName: string, days: number) => {
          const counted = own.filter((event) => event.eventName === eventName && personOf(event) === id)
          return counted.filter(({ timestamp }) => timestamp.slice(0, 10) >= firstDayOf(days, now)).length
        }
        return isInSegment(segment, { traits, countOf })
      })
      return [
        ...matched
          .sort((a, b) => compareLabels(b, a))
          .slice(0, sample)
          .map((profileId) => ({ profileId, people: 1 })),
        { profileId: null, people: matched.length },
      ]
    },
    listPropertyValues: async ({ property, contains = '', limit, ...range }) => {
      const values = inRange(range)
        .filter((event) => !event.context.bot && !event.erased)
        .map((event) => textOf(readValue(event, property)))
        .filter((value) => value !== null)
        .filter((value) => value.toLowerCase().includes(contains.toLowerCase()))
      return [...Map.groupBy(values, (value) => value)]
        .map(([value, of]) => ({ value, events: of.length }))
        .sort((a, b) => b.events - a.events || compareLabels(a.value, b.value))
        .slice(0, limit)
    },
    readEvents: async function* ({ projectId, portion, ...query }) {
      const found = events
        .filter((event) => event.projectId === projectId && !event.erased)
        .filter((event) => {
          const [at, receivedAt] = [Date.parse(event.timestamp), Date.parse(event.receivedAt)]
          const inTime = at >= (query.from ?? -Infinity) && at < (query.to ?? Infinity)
          return inTime && receivedAt >= (query.receivedFrom ?? 0) && fits(event, query.filters ?? [])
        })
        .filter((event) => (query.eventName ?? event.eventName) === event.eventName)
        .filter((event) => (query.visitorId ?? event.visitorId) === event.visitorId)
        .filter((event) => (query.userId ?? event.userId) === event.userId)
        .filter(({ profileId }) => query.profileIds?.some((id) => id === profileId) ?? true)
        .map((event) => ({ ...viewOf(event), eventKey: eventKeyOf(event.eventId) }))
        .filter(({ eventKey }) => query.eventKeys?.includes(eventKey) ?? true)
        .map((event) => ({ event, place: `${event.receivedAt} ${event.eventKey}` }))
        .filter(({ place }) => {
          if (query.below === undefined) return true
          const { receivedAt, eventKey = '' } = query.below
          return place < `${new Date(receivedAt).toISOString()} ${eventKey}`
        })
        .sort((a, b) => (a.place < b.place ? 1 : -1))
        .map(({ event }) => event)
      for (let start = 0; start <= found.length; start += portion())
        yield { events: found.slice(start, start + portion()), next: undefined }
    },
    readValues: async function* ({ property, ...query }) {
      for await (const { events } of store.readEvents(query))
        yield events.flatMap(({ profileId, timestamp, properties }) => {
          const value = property?.source === 'properties' ? valueAt(properties, property.path) : 1
          const number = typeof value === 'number' ? value : null
          return profileId === null ? [] : { profileId, at: Date.parse(timestamp), value: number }
        })
    },
    readPlaces: async function* (query) {
      for await (const { events, next } of store.readEvents(query))
        yield {
          places: events.map(({ receivedAt, eventKey }) => ({
            receivedAt: Date.parse(receivedAt),
            eventKey,
          })),
          next,
        }
    },
    close: async () => {},
  }
  return store
}

/** The event as the API shows it. */
const viewOf = ({
  v: _v,
  projectId: _p,
  backfill: _b,
  conversions: _c,
  erased: _e,
  ...view
}: Stored): EventView => view

const columnOf = ({ eventName, context, shortLinkId }: Stored, column: string): unknown => {
  const { utm } = context
  const columns: Record<string, unknown> = {
    eventName,
    browser: context.browser,
    os: context.os,
    device: context.device,
    country: context.country,
    city: context.city,
    path: context.path,
    referrerHost: context.referrerHost,
    bot: context.bot,
    utmSource: utm.source,
    utmMedium: utm.medium,
    utmCampaign: utm.campaign,
    utmTerm: utm.term,
    utmContent: utm.content,
    link: shortLinkId,
    campaign: context.shortLink?.campaign ?? utm.campaign,
  }
  return columns[column]
}

const typeOf = (value: unknown) =>
  Array.isArray(value) ? 'array' : (typeof value as 'string' | 'number' | 'boolean' | 'object')

const textOf = (value: unknown): string | null => {
  if (value === undefined || value === null) return null
  if (typeof value === 'number') return `${value}`.replace('e+', 'e')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const total = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + Number(value), 0)

const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? 0
  return below + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] ?? 0) - below)
}

const finite = (value: number): number => Math.max(Math.min(value, Number.MAX_VALUE), -Number.MAX_VALUE)

const aggregate = (metric: TrendQuery['metric'], values: readonly unknown[]): number => {
  const numbers = values.map(Number)
  switch (metric) {
    case 'events':
    case 'conversions':
      return values.length
    case 'people':
    case 'sessions':
    case 'visitors':
      return new Set(values).size
    case 'avg':
      return total(values) / values.length
    case 'min':
      return Math.min(...numbers)
    case 'max':
      return Math.max(...numbers)
    case 'p50':
    case 'p90':
    case 'p99':
      return quantile(numbers, Number(metric.slice(1)) / 100)
    default:
      return total(values)
  }
}

/** By UTF-8 bytes, no label last. */
const compareLabels = (a: string | null, b: string | null): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Labels, the greatest first. */
const ranking = <T extends { label: string | null }>(
  rows: readonly T[],
  sizeOf: (rows: readonly T[]) => number,
): (string | null)[] =>
  [...Map.groupBy(rows, ({ label }) => label)]
    .sort(([a, of], [b, others]) => sizeOf(others) - sizeOf(of) || compareLabels(a, b))
    .map(([label]) => label)
