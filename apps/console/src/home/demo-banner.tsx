import { useQuery } from '@tanstack/react-query'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { For } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'

/** Whether the project has demo data. */
export const useDemoData = () => {
  const projectId = useProjectId()
  return useQuery({
    queryKey: [projectId, 'demo-data'],
    queryFn: () =>
      unwrap(api.GET('/api/projects/{projectId}/demo-data', { params: { path: { projectId } } })),
    staleTime: 60_000,
  })
}

/** Says that the project has demo data, with a button to remove it. */
export const DemoBanner = () => {
  const projectId = useProjectId()
  const params = { path: { projectId } }
  const remove = useChange(() => unwrap(api.DELETE('/api/projects/{projectId}/demo-data', { params })), {
    done: 'Demo data removed',
    quiet: true,
  })
  return (
    <section
      aria-label="Demo data"
      className="mb-4 flex flex-col gap-3 rounded-xl border border-line bg-info-soft px-4 py-3 sm:flex-row sm:items-center"
    >
      <Icon name="alert" className="size-5 shrink-0 text-info max-sm:hidden" />
      <p className="min-w-0 grow">
        <strong>This project holds demo data</strong> of a small shop, so that every page shows something. The
        ids of its people begin with <code className="font-mono">demo-</code>.
      </p>
      <For atLeast="admin">
        <ConfirmButton
          label="Remove demo data"
          title="Remove all demo data?"
          confirm="Remove demo data"
          small
          onConfirm={() => remove.mutateAsync()}
        >
          Its people, events, links, coupons, decision, email trigger, insights and dashboard are deleted.
          What you have added stays.
        </ConfirmButton>
      </For>
    </section>
  )
}
