import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Card } from '../ui/card.tsx'
import { ErrorState, Skeleton } from '../ui/states.tsx'

/** The result of a query, or its loading or error state. */
export const AnswerOf = <T,>({
  result,
  children,
}: {
  result: UseQueryResult<T>
  children: (answer: T) => ReactNode
}) => {
  if (result.error && !result.isFetching)
    return (
      <Card>
        <ErrorState error={result.error} retry={() => void result.refetch()} />
      </Card>
    )
  if (!result.data)
    return (
      <Card padded>
        <div role="status" aria-label="Loading">
          <Skeleton className="h-[260px]" />
        </div>
      </Card>
    )
  return (
    <div
      aria-busy={result.isPlaceholderData}
      className={`flex min-w-0 flex-col gap-4 transition-opacity ${result.isPlaceholderData ? 'opacity-60' : ''}`}
    >
      {children(result.data)}
    </div>
  )
}
