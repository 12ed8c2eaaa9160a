import { useProjectId } from '../api/session.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { curlCommand } from '../ui/api-command.tsx'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import type { Kind } from './query-types.ts'
import { zoneOf } from './run-query.ts'
import { resolveRange } from './time-range.ts'
import type { QueryState } from './use-query-state.ts'

/** Shows the API request of the page's query. */
export const AsCurl = <K extends Kind>({ state }: { state: QueryState<K> }) => {
  const [dialog, openDialog, close] = useUrlDialog<'curl'>('viewer')
  const open = dialog === 'curl' && state.validQuery !== undefined
  return (
    <>
      <Button icon="copy" disabled={state.validQuery === undefined} onClick={() => openDialog('curl')}>
        As curl
      </Button>
      <Modal
        open={open}
        onClose={close}
        title="The same query by API"
        description="Use a key with the scope manage:read."
        wide
      >
        {open && <Command state={state} />}
      </Modal>
    </>
  )
}

const Command = <K extends Kind>({ state: { kind, validQuery, range } }: { state: QueryState<K> }) => {
  const projectId = useProjectId()
  const body = { ...validQuery, ...resolveRange(range, zoneOf(validQuery ?? {})) }
  return (
    <CodeBlock
      label="Command that runs this query"
      text={curlCommand(
        `/api/projects/${projectId}/analytics/${kind}`,
        'key with the scope manage:read',
        body,
      )}
    />
  )
}
