import { useQuery } from '@tanstack/react-query'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { DecisionVersion } from '../api/types.ts'
import { useUrlRow } from '../api/url-state.ts'
import { ActorName } from '../ui/actor.tsx'
import { Badge, Status } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState, ErrorState, SkeletonLines } from '../ui/states.tsx'
import { DataTable, NarrowLine, rowLinkClass } from '../ui/table.tsx'
import { placeOf } from './changes.ts'

/** The versions of a decision, each of which can be restored. */
export const History = ({
  decisionKey,
  current,
  etag,
  mayRestore,
}: {
  decisionKey: string
  current: number
  /** Of the current version, so that a restore does not overwrite what somebody else has changed meanwhile. */
  etag: string
  mayRestore: boolean
}) => {
  const projectId = useProjectId()
  const path = { projectId, key: decisionKey }
  const list = useList<DecisionVersion>([projectId, 'history', decisionKey], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/decisions/{key}/history', {
        params: { path, query: { limit: 25, ...cursor } },
      }),
    ),
  )
  const [open, setOpen, close] = useUrlRow(list.rows, ({ version }) => `${version}`)
  const restore = useChange(
    (version: number) =>
      unwrap(
        api.POST('/api/projects/{projectId}/decisions/{key}/history/{version}/restore', {
          params: { path: { ...path, version: `${version}` }, header: { 'If-Match': etag } },
        }),
      ),
    {
      done: 'Version restored',
      quiet: true,
      propose: (version) => ({ decision: decisionKey, restore: version }),
    },
  )
  return (
    <Card>
      <DataTable
        label="Versions"
        list={list}
        keyOf={({ version }) => `${version}`}
        onOpen={setOpen}
        columns={[
          {
            title: 'Version',
            cell: (row) => (
              <button type="button" className={rowLinkClass} onClick={() => setOpen(row)}>
                {row.version}
              </button>
            ),
          },
          {
            title: 'Change',
            cell: ({ change, changedBy, changedAt, status }) => (
              <span className="wrap-anywhere">
                {change.replaceAll('_', ' ')}
                <NarrowLine>
                  <Status status={status} /> <ActorName actor={changedBy} /> ·{' '}
                  <Time at={changedAt} as="ago" />
                </NarrowLine>
              </span>
            ),
          },
          { title: 'Status', wide: true, cell: ({ status }) => <Status status={status} /> },
          {
            title: 'Who',
            wide: true,
            cell: ({ changedBy }) => <ActorName actor={changedBy} />,
          },
          { title: 'When', align: 'right', wide: true, cell: ({ changedAt }) => <Time at={changedAt} /> },
          {
            title: 'Actions',
            align: 'right',
            cell: ({ version }) =>
              version === current ? (
                <Badge tone="good">current</Badge>
              ) : mayRestore ? (
                <ConfirmButton
                  small
                  label="Restore"
                  title={`Restore version ${version}?`}
                  confirm="Restore"
                  onConfirm={() => restore.mutateAsync(version)}
                >
                  Rules and variants become those of version {version}, as a new version.
                </ConfirmButton>
              ) : null,
          },
        ]}
        empty={<EmptyState icon="decisions" title="No versions" />}
      />
      <Modal as="sheet" open={open !== undefined} onClose={close} title={`Version ${open?.version}`}>
        {open && (
          <>
            <p className="mb-4 text-muted">
              <ActorName actor={open.changedBy} /> · <Time at={open.changedAt} />
            </p>
            {open.reason && <p className="mb-4 wrap-anywhere">Reason: {open.reason}</p>}
            <Changes decisionKey={decisionKey} version={open.version} />
          </>
        )}
        <h3 className="mt-5 mb-2 font-semibold">The whole version</h3>
        <Json label="The version as JSON" value={open} />
      </Modal>
    </Card>
  )
}

/** What a version changed. */
const Changes = ({ decisionKey, version }: { decisionKey: string; version: number }) => {
  const projectId = useProjectId()
  const compared = useQuery({
    queryKey: [projectId, 'version', decisionKey, version],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/decisions/{key}/history/{version}', {
          params: { path: { projectId, key: decisionKey, version: `${version}` } },
        }),
      ),
  })
  if (compared.error) return <ErrorState error={compared.error} retry={() => void compared.refetch()} />
  if (!compared.data) return <SkeletonLines />
  const { previousVersion, changes } = compared.data
  if (previousVersion === null) return <p className="text-muted">There is no earlier version.</p>
  return (
    <section aria-label={`Changes since version ${previousVersion}`}>
      <h3 className="mb-2 font-semibold">Changes since version {previousVersion}</h3>
      {changes.length === 0 && <p className="text-muted">Saved without changes.</p>}
      <ul className="flex flex-col gap-2">
        {changes.map(({ op, path, value, was }) => (
          <li key={`${op}${path}`} className="rounded-lg border border-line p-3">
            <span className="font-medium break-all">{placeOf(path)}</span>
            {op !== 'add' && (
              <del className="mt-1 block rounded-md bg-danger-soft px-2 py-1 font-mono break-all text-danger">
                {JSON.stringify(was)}
              </del>
            )}
            {op !== 'remove' && (
              <ins className="mt-1 block rounded-md bg-accent-soft px-2 py-1 font-mono break-all text-accent-text no-underline">
                {JSON.stringify(value)}
              </ins>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
