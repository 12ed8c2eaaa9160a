import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { ColumnsRead } from '../ui/columns-read.tsx'
import { CsvFileInput, TextArea } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'

/** Imports codes into a pool, or gift cards with their balances. */
export const ImportCodes = ({ poolId, isCards = false }: { poolId: string; isCards?: boolean }) => {
  const projectId = useProjectId()
  const [text, setText] = useState('')
  const { data: reader } = useQuery({
    queryKey: ['read-codes'],
    queryFn: () => import('./read-codes.ts'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const read = useMemo(() => (text.trim() === '' ? undefined : reader?.readCodes(text)), [reader, text])
  const send = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/coupon-pools/{id}/import', {
          params: { path: { projectId, id: poolId } },
          headers: { 'Content-Type': 'text/csv' },
          body: text,
          bodySerializer: (body: string) => body,
        }),
      ),
    { quiet: true },
  )
  return (
    <div className="flex flex-col gap-4">
      <TextArea
        label="Codes"
        code
        rows={8}
        value={text}
        onChange={(event) => setText(event.target.value)}
        hint={`One code a line, or a table with a header that names the column of the codes.${isCards ? ' A column “balance” says what each card holds, such as 25.00. Without it, each holds the amount of the pool.' : ''}`}
      />
      <CsvFileInput label="Or a file" onText={setText} />
      {read && 'problem' in read && <Notice tone="danger">The text {read.problem}.</Notice>}
      {read && 'layout' in read && (
        <div>
          <ColumnsRead layout={read.layout} />
          <p className="text-muted">It begins with {read.codes.join(', ')}.</p>
        </div>
      )}
      {send.error && <Notice tone="danger">{send.error.message}</Notice>}
      {send.data && (
        <Notice tone={send.data.invalid > 0 ? 'warning' : 'success'}>
          {send.data.imported} imported, {send.data.duplicates} there already, {send.data.invalid} not valid
          {send.data.errors
            .slice(0, 20)
            .map(({ line, code, reason }) => `\nLine ${line}, ${code}: ${reason}`)}
        </Notice>
      )}
      <div className="flex justify-end">
        <Button
          look="primary"
          busy={send.isPending}
          disabled={read === undefined || 'problem' in read}
          onClick={() => send.mutate()}
        >
          Import
        </Button>
      </div>
    </div>
  )
}
