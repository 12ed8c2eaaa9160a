import { useState } from 'react'
import { useProjectId } from '../api/session.ts'
import { curlCommand } from '../ui/api-command.tsx'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import { zoneOf } from './ask.ts'
import type { Kind } from './questions.ts'
import { resolveRange } from './time-range.ts'
import type { QuestionState } from './use-question.ts'

/** Shows the API request of the page's query. */
export const AsCurl = <K extends Kind>({ question }: { question: QuestionState<K> }) => {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button icon="copy" disabled={question.asked === undefined} onClick={() => setOpen(true)}>
        As curl
      </Button>
      <Modal
        open={open}
        onClose={() => setOpen(false)}
        title="The same question by API"
        description="Use a key with the scope manage:read."
        wide
      >
        {open && <Command question={question} />}
      </Modal>
    </>
  )
}

const Command = <K extends Kind>({ question: { kind, asked, range } }: { question: QuestionState<K> }) => {
  const projectId = useProjectId()
  const body = { ...asked, ...resolveRange(range, zoneOf(asked ?? {})) }
  return (
    <CodeBlock
      label="Command that asks this question"
      text={curlCommand(
        `/api/projects/${projectId}/analytics/${kind}`,
        'key with the scope manage:read',
        body,
      )}
    />
  )
}
