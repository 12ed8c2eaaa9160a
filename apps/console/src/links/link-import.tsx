import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { ColumnsRead } from '../ui/columns-read.tsx'
import { CsvFileInput, TextArea } from '../ui/form.tsx'
import { formatCount, formatNumber } from '../ui/format.tsx'
import { Notice } from '../ui/states.tsx'

const MAX_LINKS = 1000
/** The index of an area that the keyboard can scroll. */
const FOCUSABLE = 0

/** Creates up to 1000 links from lines of CSV, after showing their errors. */
export const LinkImport = ({ onDone }: { onDone: () => void }) => {
  const projectId = useProjectId()
  const [text, setText] = useState('')
  const { data: parser } = useQuery({
    queryKey: ['parse-links'],
    queryFn: () => import('./parse-links.ts'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const table = useMemo(() => (text.trim() === '' ? undefined : parser?.parseLinks(text)), [parser, text])
  const rows = table && 'rows' in table ? table.rows : []
  const good = rows.filter(({ problem }) => problem === undefined)
  const create = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/links/bulk', {
          params: { path: { projectId } },
          body: { links: good.map(({ link }) => link) },
        }),
      ),
    {
      done: ({ created, existing, failed }) =>
        `${created} created, ${existing} there already, ${failed} failed`,
      onDone: ({ failed }) => {
        if (failed === 0) onDone()
      },
    },
  )
  return (
    <div className="flex flex-col gap-4">
      <TextArea
        label="Links as CSV"
        code
        rows={6}
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder={
          'destination,code,campaign,domain\nhttps://shop.example/sale,sale,autumn,go.shop.example'
        }
        hint="From a spreadsheet or as CSV, with a header, or in the order destination, code, campaign, domain."
      />
      <CsvFileInput label="Or a file" onText={setText} />
      {table && 'problem' in table && <Notice tone="danger">The text {table.problem}.</Notice>}
      {table && 'layout' in table && <ColumnsRead layout={table.layout} />}
      {rows.length > 0 && (
        <section
          className="max-h-60 overflow-auto rounded-lg border border-line"
          tabIndex={FOCUSABLE}
          aria-label="Preview"
        >
          <table className="w-full">
            <caption className="sr-only">Preview</caption>
            <tbody className="divide-y divide-line">
              {rows.slice(0, 200).map(({ line, link, problem }) => (
                <tr key={line}>
                  <td className="px-3 py-1.5 text-muted tabular-nums">{line}</td>
                  <td className="px-3 py-1.5">
                    <span className="block max-w-32 truncate sm:max-w-72">{link.destination}</span>
                    {problem && <span className="block text-danger sm:hidden">{problem}</span>}
                  </td>
                  <td className="px-3 py-1.5 max-sm:hidden">{link.domain}</td>
                  <td className="px-3 py-1.5">{link.code ?? <span className="text-muted">chosen</span>}</td>
                  <td className="px-3 py-1.5 text-right max-sm:hidden">
                    <Badge tone={problem ? 'danger' : 'good'}>{problem ?? 'ready'}</Badge>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {create.data?.results
        .filter(({ status }) => status === 'failed')
        .slice(0, 20)
        .map(({ index, errors }) => (
          <Notice key={index} tone="danger">
            {good[index]?.link.destination}: {errors?.map(({ message }) => message).join(', ')}
          </Notice>
        ))}
      {good.length > MAX_LINKS && (
        <Notice tone="warning">At most {formatNumber(MAX_LINKS)} links at once.</Notice>
      )}
      <div className="flex justify-end">
        <Button
          look="primary"
          busy={create.isPending}
          disabled={good.length === 0 || good.length > MAX_LINKS}
          onClick={() => create.mutate()}
        >
          {good.length === 0 ? 'Create links' : `Create ${formatCount(good.length, 'link')}`}
        </Button>
      </div>
    </div>
  )
}
