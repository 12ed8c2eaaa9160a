import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Card } from '../ui/card.tsx'
import { ErrorState, SkeletonBlock } from '../ui/states.tsx'

/** The result of a query, or its loading or error state. */
export const ResultOf = <T,>({
  response,
  children,
}: {
  response: UseQueryResult<T>
  children: (result: T) => ReactNode
}) => {
  if (response.error && !response.isFetching)
    return (
      <Card>
        <ErrorState error={response.error} retry={() => void response.refetch()} />
      </Card>
    )
  if (!response.data)
    return (
      <Card padded>
        <SkeletonBlock className="h-[260px]" />
      </Card>
    )
  return (
    <div
      aria-busy={response.isPlaceholderData}
      className={`flex min-w-0 flex-col gap-4 transition-opacity ${response.isPlaceholderData ? 'opacity-60' : ''}`}
    >
      {children(response.data)}
    </div>
  )
}
