import type { ProfileQuery, ProfileView } from '@waymark/contracts/http/profile-view'
import { type EventFilter, fulfils, type PropertyRef, valueAt } from '@waymark/domain/analytics'
import { spellingsOf } from '@waymark/domain/email'
import type { Pool } from 'pg'
import { readFiltersOfQuery } from '../analytics/read-filters.ts'
import type { QueryStore } from '../analytics/run-queries.ts'
import { encodeCursor, fillPage, parseIdCursor } from '../http/page.ts'
import { UUID, unprocessable } from '../http/validation.ts'
import { findProfileOf, readProfile, readProfiles } from './profile-queries.ts'

/** How long a search may take, in ms: below the deadline of the request, for what follows. */
export const SEARCH_TIMEOUT_MS = 3_000

/** The cursor of a page that had only profiles with the id. */
const BEFORE_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type ProfileSearch = {
  search: string | undefined
  filters: EventFilter[]
  below: string | undefined
  limit: number
}

/**
 * Reads a search for profiles.
 * @throws AppError unprocessable when a filter is not of a trait, or the cursor is not one of this list
 */
export const readProfileSearch = ({ search, filters, cursor, limit }: ProfileQuery): ProfileSearch => {
  const read = filters === undefined ? [] : readFiltersOfQuery(filters)
  const index = read.findIndex(({ property }) => property.source !== 'traits')
  if (index >= 0)
    throw unprocessable(
      `filters.${index}.property`,
      'property',
      'must be traits.<path>: people are found by traits',
    )
  return { search, filters: read, below: cursor === undefined ? undefined : parseIdCursor(cursor), limit }
}

/**
 * A page of the profiles that fulfil all filters and, with `search`, have that id or an email address that begins with
 * it, in any spelling of a whole address. The one with the id comes first, all others by descending id. The event store finds them, and PostgreSQL checks
 * them, so that erased and changed profiles are left out.
 */
export const searchProfiles = async (
  pool: Pool,
  queryStore: QueryStore,
  projectId: string,
  { search, filters, below, limit }: ProfileSearch,
): Promise<{ data: ProfileView[]; nextCursor: string | null }> => {
  const isFound = ({ traits }: ProfileView): boolean =>
    filters.every((filter) => fulfils(traitOf(traits, filter.property), filter))
  const emails = search === undefined ? undefined : spellingsOf(search)
  const named = (search === undefined ? [] : await findById(pool, projectId, search)).filter(isFound)
  const first = below === undefined ? named.slice(0, limit) : []
  const wanted = limit - first.length
  const ids =
    wanted === 0
      ? []
      : await queryStore((store) => store.findProfiles({ projectId, filters, emails, below, limit: wanted }))
  const isNamed = (id: string): boolean => named.some((profile) => profile.id === id)
  const begins = (traits: ProfileView['traits']): boolean =>
    emails?.some((email) => `${traits.email}`.toLowerCase().startsWith(email.toLowerCase())) ?? true
  // Not all ids lead to a profile, but each leads the cursor on.
  const { data, last } = await fillPage<FoundProfile, ProfileView | null>(
    ids.length,
    ({ profile }) => profile,
    async (previous, take) => {
      const start = previous === undefined ? 0 : ids.indexOf(previous.id) + 1
      const part = ids.slice(start, start + take)
      const profiles = new Map((await readProfiles(pool, projectId, part)).map((one) => [one.id, one]))
      return part.map((id) => {
        const profile = profiles.get(id)
        const isShown = profile && isFound(profile) && begins(profile.traits) && !isNamed(id)
        return { id, profile: isShown ? profile : null }
      })
    },
  )
  const end = last?.id ?? (ids.length === wanted ? (ids.at(-1) ?? BEFORE_ALL) : undefined)
  return {
    data: [...first, ...data.filter((profile) => profile !== null)],
    nextCursor: end === undefined ? null : encodeCursor(end),
  }
}

type FoundProfile = { id: string; profile: ProfileView | null }

const traitOf = (traits: ProfileView['traits'], ref: PropertyRef): unknown =>
  ref.source === 'traits' ? valueAt(traits, ref.path) : undefined

/** The profiles with an id: of the user, of the visitor, or their own. */
const findById = async (pool: Pool, projectId: string, id: string): Promise<ProfileView[]> => {
  const found = await Promise.all([
    findProfileOf(pool, { projectId, kind: 'user', value: id }),
    findProfileOf(pool, { projectId, kind: 'visitor', value: id }),
    UUID.test(id) ? readProfile(pool, projectId, id) : undefined,
  ])
  const profiles = found.flat().filter((profile) => profile !== undefined)
  return [...new Map(profiles.map((profile) => [profile.id, profile])).values()]
}
