import { useChange } from '../api/change.ts'
import { Form, Input } from '../ui/form.tsx'

type Props = {
  /** The present name. */
  name: string
  /** Stores a new name. */
  save: (name: string) => Promise<{ name: string }>
  onDone: () => void
}

/** The form that renames an insight or a dashboard. */
export const RenameForm = ({ name: present, save, onDone }: Props) => {
  const rename = useChange(({ name = '' }: Record<string, string>) => save(name), {
    quiet: true,
    done: ({ name }) => `Renamed to ${name}`,
    onDone,
  })
  return (
    <Form
      submit="Rename"
      busy={rename.isPending}
      error={rename.error}
      names={['name']}
      onSubmit={(values) => rename.mutate(values)}
      onCancel={onDone}
    >
      <Input label="Name" name="name" required maxLength={200} defaultValue={present} />
    </Form>
  )
}
