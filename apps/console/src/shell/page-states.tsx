import { type ErrorComponentProps, Link } from '@tanstack/react-router'
import { buttonClass } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { EmptyState, ErrorState, Skeleton, SkeletonLines } from '../ui/states.tsx'

export const PageLoading = () => (
  <div role="status" aria-label="Loading">
    <Skeleton className="mb-5 h-8 w-48" />
    <Card>
      <SkeletonLines lines={8} />
    </Card>
  </div>
)

export const PageError = ({ error, reset }: ErrorComponentProps) => (
  <>
    <PageHeader title="This page does not work" />
    <Card>
      <ErrorState error={error} retry={reset} />
    </Card>
  </>
)

export const NotFound = () => (
  <EmptyState
    isPage
    icon="search"
    title="There is no such page"
    action={
      <Link to="/" className={buttonClass()}>
        Go to Home
      </Link>
    }
  />
)
