import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { ApiError, api, messageOf, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { LinkDomain } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { Verification } from '../ui/badge.tsx'
import { Button, buttonClass, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { CopyButton, Json } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { Notice } from '../ui/states.tsx'
import { DomainForm } from './domain-form.tsx'

/** One domain of the project's short links, with the DNS record that verifies it. */
export const LinkDomainPage = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const client = useQueryClient()
  const { id } = useParams({ strict: false }) as { id: string }
  const params = { path: { projectId, id } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('admin')
  const domain = useQuery({
    queryKey: [projectId, 'link-domain', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/link-domains/{id}', { params })),
  })
  const verify = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/link-domains/{id}/verify', { params })),
    { done: ({ host }) => `${host} is verified`, quiet: true },
  )
  const remove = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/link-domains/{id}', { params })),
    {
      done: 'Domain deleted',
      quiet: true,
      leave: () => navigate({ to: '/p/$projectId/links/domains', params: { projectId } }),
    },
  )
  const back = { to: '/p/$projectId/links/domains', params: { projectId }, label: 'Domains' } as const
  if (!domain.data) return <PageWithoutData title="Domain" back={back} query={domain} />
  const { host, verifiedAt } = domain.data
  return (
    <>
      <PageHeader
        back={back}
        title={host}
        aside={<Verification verifiedAt={verifiedAt} />}
        actions={
          <>
            <Link
              to="/p/$projectId/links"
              params={{ projectId }}
              search={{ domain: id } as never}
              className={buttonClass()}
            >
              Show its links
            </Link>
            <For atLeast="admin">
              <Button onClick={() => openDialog('edit')}>Edit</Button>
              <Button
                icon="refresh"
                look={verifiedAt === null ? 'primary' : 'secondary'}
                busy={verify.isPending}
                // A failed check may have removed the verification.
                onClick={() => verify.mutate(undefined, { onError: () => void client.invalidateQueries() })}
              >
                {verifiedAt === null ? 'Verify' : 'Check again'}
              </Button>
              <ConfirmButton
                label="Delete"
                title={`Delete ${host}?`}
                confirm="Delete domain"
                onConfirm={() => remove.mutateAsync()}
              >
                Its links stay, but no longer resolve. They resolve again when the host is added and verified
                again.
              </ConfirmButton>
            </For>
          </>
        }
      />
      <div className="mb-4 flex flex-col gap-2 empty:hidden">
        {verify.error && <Notice tone="danger">{problemOf(host, verify.error)}</Notice>}
        {verifiedAt === null && (
          <Notice tone="warning">
            Links of this domain do not resolve until it is verified. Changes of DNS may take an hour.
          </Notice>
        )}
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 lg:grid-cols-2">
        <DnsRecord domain={domain.data} />
        <Addresses domain={domain.data} />
        <AppFile name="apple-app-site-association" file={domain.data.appleAppSiteAssociation} />
        <AppFile name="assetlinks.json" file={domain.data.assetLinks} />
      </div>
      <Modal open={dialog === 'edit'} onClose={closeDialog} title={`Edit ${host}`}>
        <DomainForm domain={domain.data} onDone={closeDialog} onCancel={closeDialog} />
      </Modal>
    </>
  )
}

/** Why a check failed, as a sentence about the host. */
const problemOf = (host: string, error: unknown): string =>
  error instanceof ApiError && error.problems.length > 0
    ? error.problems.map(({ message }) => `${host} ${message}`).join('\n')
    : messageOf(error)

const DnsRecord = ({ domain: { verification, verifiedAt } }: { domain: LinkDomain }) => (
  <Card
    title="DNS record"
    description="It proves that the host is yours. Keep it: without it another project may verify the host."
    padded
  >
    <Facts
      rows={[
        ['Type', verification.type],
        ['Name', <Copied key="n" text={verification.name} label="Copy name" />],
        ['Value', <Copied key="v" text={verification.value} label="Copy value" />],
        ['Last verified', <Time key="t" at={verifiedAt} />],
      ]}
    />
  </Card>
)

const Copied = ({ text, label }: { text: string; label: string }) => (
  <span className="flex flex-wrap items-start justify-between gap-2">
    <code className="min-w-0 font-mono wrap-anywhere">{text}</code>
    <CopyButton text={text} label={label} />
  </span>
)

const Addresses = ({ domain }: { domain: LinkDomain }) => (
  <Card
    title="Fallback addresses"
    description="Where requests without an active link are redirected. Without an address they get a page."
    padded
  >
    <Facts
      rows={[
        ['Root', domain.rootUrl],
        ['Not found', domain.notFoundUrl],
        ['Expired', domain.expiredUrl],
      ]}
    />
  </Card>
)

const AppFile = ({ name, file }: { name: string; file: object | null }) => (
  <Card title={name} padded>
    {file === null ? (
      <p className="text-muted">The domain answers 404 for it.</p>
    ) : (
      <Json label={name} value={file} />
    )}
  </Card>
)
