import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { DecisionVersion } from '../api/types.ts'
import { useUrlRow } from '../api/url-state.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'

/** The versions of a decision, each of which can be restored. */
export const History = ({ decisionKey, current }: { decisionKey: string; current: number }) => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
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
        api.POST('/api/projects/{projectId}/decisions/{key}/rollback', {
          params: { path },
          body: { version },
        }),
      ),
    { done: 'Version restored', quiet: true },
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
          { title: 'Change', cell: ({ change }) => change },
          { title: 'Status', cell: ({ status }) => <Status status={status} /> },
          { title: 'When', align: 'right', wide: true, cell: ({ changedAt }) => <Time at={changedAt} /> },
          {
            title: 'Actions',
            align: 'right',
            cell: ({ version }) =>
              version === current ? (
                <Badge tone="good">current</Badge>
              ) : mayEdit ? (
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
        <Json label="The version as JSON" value={open} />
      </Modal>
    </Card>
  )
}
