import { useChange } from '../api/change.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { formatNumber } from '../ui/format.tsx'
import type { Column } from '../ui/table.tsx'

/** Whether a record was replayed. */
export const replayedColumn: Column<{ replayedAt: string | null }> = {
  title: 'State',
  cell: ({ replayedAt }) => (
    <Badge tone={replayedAt ? 'good' : 'warning'}>{replayedAt ? 'replayed' : 'waiting'}</Badge>
  ),
  sort: ({ replayedAt }) => replayedAt,
}

/** Replays one record. Only editors see it. */
export const ReplayButton = ({ busy, onReplay }: { busy: boolean; onReplay: () => void }) => (
  <For atLeast="editor">
    <div>
      <Button icon="refresh" look="primary" busy={busy} onClick={onReplay}>
        Replay
      </Button>
    </div>
  </For>
)

type Replayed = { replayed: number; stillInvalid: number; nextCursor: string | null }

/** Replays all records that were not replayed, if `rows` has any. Only editors see it. */
export const ReplayAllButton = ({
  rows,
  replay,
}: {
  rows: readonly { replayedAt: string | null }[]
  /** Replays the records after a cursor, as many as the API replays in a request. */
  replay: (after: { cursor?: string }) => Promise<Replayed>
}) => {
  const replayAll = useChange(
    async () => {
      const sum = { replayed: 0, stillInvalid: 0 }
      for (let after: { cursor?: string } | undefined = {}; after; ) {
        const { replayed, stillInvalid, nextCursor }: Replayed = await replay(after)
        sum.replayed += replayed
        sum.stillInvalid += stillInvalid
        after = nextCursor === null ? undefined : { cursor: nextCursor }
      }
      return sum
    },
    {
      done: ({ replayed, stillInvalid }) =>
        `${formatNumber(replayed)} sent again, ${formatNumber(stillInvalid)} still do not fit`,
    },
  )
  if (rows.every(({ replayedAt }) => replayedAt !== null)) return null
  return (
    <For atLeast="editor">
      <Button icon="refresh" busy={replayAll.isPending} onClick={() => replayAll.mutate()}>
        Replay all
      </Button>
    </For>
  )
}
