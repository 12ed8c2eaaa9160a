import { type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query'

export type Page<T> = { data: T[]; nextCursor: string | null }

/** A list that is loaded page by page. */
export type List<T> = Pick<
  UseInfiniteQueryResult,
  'isPending' | 'error' | 'hasNextPage' | 'isFetchingNextPage'
> & {
  rows: readonly T[]
  refetch: () => void
  fetchNextPage: () => void
}

/** Loads a list of the API page by page. */
export const useList = <T>(
  queryKey: readonly unknown[],
  read: (cursor: { cursor?: string }) => Promise<Page<T>>,
  options: { refetchInterval?: number | false; enabled?: boolean } = {},
): List<T> => {
  const result = useInfiniteQuery({
    queryKey: ['list', ...queryKey],
    queryFn: ({ pageParam }) => read(pageParam === '' ? {} : { cursor: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }: Page<T>) => nextCursor,
    ...options,
  })
  return {
    isPending: result.isPending,
    error: result.error,
    hasNextPage: result.hasNextPage,
    isFetchingNextPage: result.isFetchingNextPage,
    rows: result.data?.pages.flatMap(({ data }) => data) ?? [],
    refetch: () => void result.refetch(),
    fetchNextPage: () => void result.fetchNextPage(),
  }
}

/** Reads all pages of a list, for choices and names that must not miss one. */
export const readAll = async <T>(read: (cursor: { cursor?: string }) => Promise<Page<T>>): Promise<T[]> => {
  const rows: T[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Page<T> = await read(cursor === '' ? {} : { cursor })
    rows.push(...page.data)
    cursor = page.nextCursor
  }
  return rows
}

/** A list of rows that are already loaded. */
export const wholeList = <T>(rows: readonly T[]): List<T> => ({
  rows,
  isPending: false,
  error: null,
  hasNextPage: false,
  isFetchingNextPage: false,
  refetch: () => undefined,
  fetchNextPage: () => undefined,
})
