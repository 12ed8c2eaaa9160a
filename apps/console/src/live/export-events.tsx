import { useState } from 'react'
import { useProjectId } from '../api/session.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { EventField, RangeFields } from '../explore/common-fields.tsx'
import { FilterFields } from '../explore/filter-fields.tsx'
import type { Filter } from '../explore/query-types.ts'
import { type Range, readerZone, resolveRange } from '../explore/time-range.ts'
import { curlCommand } from '../ui/api-command.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Input, Select } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'
import { type ExportChoice, exportUrl, extensionOf, FORMATS, MAX_EXPORT_LIMIT } from './export-url.ts'

/** A button that opens a dialog for downloading events. */
export const ExportEvents = ({ range, ids = {} }: { range?: Range; ids?: ExportChoice['ids'] }) => {
  const [dialog, openDialog, close] = useUrlDialog<'export'>('viewer')
  const open = dialog === 'export'
  return (
    <>
      <Button icon="download" onClick={() => openDialog('export')}>
        Export events
      </Button>
      <Modal
        open={open}
        onClose={close}
        title="Export events"
        description="Your browser downloads all events that match, the last received first."
      >
        {open && <Choices range={range} ids={ids} onClose={close} />}
      </Modal>
    </>
  )
}

const Choices = ({
  range: givenRange,
  ids: given,
  onClose,
}: {
  range: Range | undefined
  ids: ExportChoice['ids']
  onClose: () => void
}) => {
  const projectId = useProjectId()
  const [format, setFormat] = useState<ExportChoice['format']>('jsonl')
  const [range, setRange] = useState(givenRange)
  const [ids, setIds] = useState(given)
  const [filters, setFilters] = useState<Filter[]>([])
  const [limit, setLimit] = useState('')
  const set = (change: ExportChoice['ids']) => setIds({ ...ids, ...change })
  const times = range && resolveRange(range, readerZone())
  const url = exportUrl(projectId, { format, times, ids, filters, limit })
  return (
    <div className="flex flex-col gap-4">
      <Select
        label="Format"
        value={format}
        options={FORMATS}
        onChange={(event) => setFormat(event.target.value as ExportChoice['format'])}
      />
      <RangeFields range={range} onChange={setRange} own="All times" />
      <EventField
        label="Event name"
        value={ids.eventName ?? ''}
        onChange={(eventName) => set({ eventName })}
      />
      <Input
        label="User id"
        value={ids.userId ?? ''}
        onChange={(event) => set({ userId: event.target.value })}
      />
      <Input
        label="Visitor id"
        value={ids.visitorId ?? ''}
        onChange={(event) => set({ visitorId: event.target.value })}
      />
      <FilterFields eventName={ids.eventName || undefined} filters={filters} onChange={setFilters} />
      <Input
        label="Events at most"
        type="number"
        min={1}
        max={MAX_EXPORT_LIMIT}
        placeholder="All"
        value={limit}
        onChange={(event) => setLimit(event.target.value)}
      />
      <details>
        <summary>As curl</summary>
        <CodeBlock
          label="Command that exports these events"
          text={`${curlCommand(url, 'key with the scope manage:read')} \\
  -o events.${extensionOf(format)}`}
        />
      </details>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <a
          href={url}
          download={`events.${extensionOf(format)}`}
          onClick={onClose}
          className={buttonClass('primary')}
        >
          <Icon name="download" /> Download
        </a>
      </div>
    </div>
  )
}
