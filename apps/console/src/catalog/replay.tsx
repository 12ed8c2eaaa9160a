import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
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
