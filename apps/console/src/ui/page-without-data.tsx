import { Card, PageHeader } from './card.tsx'
import { ErrorState, SkeletonLines } from './states.tsx'

/** A page whose data is being loaded, or could not be loaded. Its `title` then names the kind of page. */
export const PageWithoutData = ({
  query: { isLoadingError, error, refetch },
  lines = 8,
  ...header
}: Pick<Parameters<typeof PageHeader>[0], 'title' | 'back'> & {
  query: { isLoadingError: boolean; error: unknown; refetch: () => unknown }
  lines?: number
}) =>
  isLoadingError ? (
    <>
      <PageHeader {...header} />
      <Card>
        <ErrorState error={error} retry={() => void refetch()} />
      </Card>
    </>
  ) : (
    <Card>
      <SkeletonLines lines={lines} />
    </Card>
  )
