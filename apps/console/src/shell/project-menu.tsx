import { useNavigate } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useAccount, useProject } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'
import { Logo } from './logo.tsx'
import { Menu, MenuItem, MenuLabel, MenuLine } from './menu.tsx'

/** Selects another project, or creates one. */
export const ProjectMenu = () => {
  const account = useAccount()
  const project = useProject()
  const navigate = useNavigate()
  const [search, setSearch] = useUrlState<'open'>()
  const close = () => setSearch({ open: '' }, { replace: true })
  const goTo = (projectId: string) => void navigate({ to: '/p/$projectId', params: { projectId } })
  const create = useChange((name: string) => unwrap(api.POST('/api/projects', { body: { name } })), {
    done: 'Project created',
    quiet: true,
    onDone: ({ id }) => goTo(id),
  })
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            className="flex min-w-0 grow items-center gap-2.5 rounded-lg p-1.5 text-left hover:bg-subtle lg:w-full"
          >
            <span className="sr-only">Project</span>
            <Logo />
            <span className="min-w-0 grow">
              <span className="block truncate leading-tight font-semibold">{project?.name ?? 'Waymark'}</span>
              <span className="block truncate leading-tight text-muted">{account?.tenant?.name}</span>
            </span>
            <Icon name="chevron" className="text-muted" />
          </button>
        }
      >
        <MenuLabel>Projects</MenuLabel>
        {account?.projects.map(({ id, name, role }) => (
          <MenuItem key={id} onClick={() => goTo(id)}>
            <Icon name="check" className={id === project?.id ? 'text-accent-text' : 'invisible'} />
            <span className="min-w-0 grow truncate">{name}</span>
            <span className="text-muted">{role}</span>
          </MenuItem>
        ))}
        <MenuLine />
        <MenuItem onClick={() => setSearch({ open: 'new-project' })}>
          <Icon name="plus" /> New project
        </MenuItem>
      </Menu>
      <Modal open={search.open === 'new-project'} onClose={close} title="New project">
        <Form
          submit="Create project"
          busy={create.isPending}
          error={create.error}
          names={['name']}
          onCancel={close}
          onSubmit={({ name = '' }) => create.mutate(name)}
        >
          <Input label="Name" name="name" required maxLength={200} hint="For example the name of the shop." />
        </Form>
      </Modal>
    </>
  )
}
