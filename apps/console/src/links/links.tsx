import { Link as PageLink } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { Link, LinkDomain } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog, useUrlState } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { CopyButton } from '../ui/code.tsx'
import { statusColumn } from '../ui/columns.tsx'
import { Modal } from '../ui/dialog.tsx'
import { FilterInput } from '../ui/filter-input.tsx'
import { Select } from '../ui/form.tsx'
import { formatNumber, Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { LinksHeader } from './header.tsx'
import { LinkForm } from './link-form.tsx'
import { LinkImport } from './link-import.tsx'
import { useLinkDomains } from './use-link-domains.ts'

const STATUSES = ['active', 'paused', 'archived'] as const

/** The project's short links. */
export const Links = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const [search, setSearch] = useUrlState<'q' | 'campaign' | 'status' | 'domain' | 'new'>()
  const domains = useLinkDomains()
  const [dialog, openDialog, closeDialog] = useUrlDialog<'import'>('editor')
  const status = STATUSES.find((one) => one === search.status)
  const list = useList<Link>(
    [projectId, 'links', search.q, search.campaign, status, search.domain],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/links', {
          params: {
            path: { projectId },
            query: {
              limit: 50,
              ...(search.q && { q: search.q }),
              ...(search.campaign && { campaign: search.campaign }),
              ...(status && { status }),
              ...(search.domain && { domainId: search.domain }),
              ...cursor,
            },
          },
        }),
      ),
  )
  const open = ({ id }: Link) => void navigate({ to: '/p/$projectId/links/$id', params: { projectId, id } })
  const close = () => setSearch({ new: '' }, { replace: true })
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
        Create link
      </Button>
    </For>
  )
  return (
    <>
      <LinksHeader
        actions={
          <>
            <For atLeast="editor">
              <Button icon="upload" onClick={() => openDialog('import')}>
                Import
              </Button>
            </For>
            {create}
          </>
        }
      />
      <Card>
        <search className="grid gap-3 border-b border-line p-4 sm:grid-cols-[1fr_auto_auto]">
          <FilterInput
            label="Search"
            hideLabel
            type="search"
            placeholder="Code, destination, campaign"
            value={search.q ?? ''}
            onCommit={(q) => setSearch({ q })}
          />
          <Select
            label="Status"
            hideLabel
            value={status ?? ''}
            onChange={(event) => setSearch({ status: event.target.value })}
            options={[['', 'All but archived'], ...STATUSES.map((one) => [one, one] as const)]}
          />
          {(domains.length > 0 || search.domain) && (
            <Select
              label="Domain"
              hideLabel
              className="sm:max-w-56"
              value={search.domain ?? ''}
              onChange={(event) => setSearch({ domain: event.target.value })}
              options={domainOptions(domains, search.domain)}
            />
          )}
        </search>
        {search.campaign && (
          <p className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2.5">
            Links of the campaign <strong className="min-w-0 wrap-anywhere">{search.campaign}</strong>
            <Button small icon="x" onClick={() => setSearch({ campaign: '' })}>
              All campaigns
            </Button>
          </p>
        )}
        <DataTable
          label="Links"
          columns={columns(projectId)}
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          empty={
            search.q || search.campaign || status || search.domain ? (
              <EmptyState icon="search" title="No link fits" />
            ) : (
              <EmptyState icon="links" title="No links yet" action={create}>
                <p className="mb-4">
                  A link leads to any page, and shows what came of it: clicks, countries, conversions,
                  revenue.
                </p>
                <For atLeast="editor">
                  <ApiCommand
                    does="creates a link"
                    resource="links"
                    body={{ destination: 'https://shop.example/sale', campaign: 'autumn' }}
                  />
                </For>
              </EmptyState>
            )
          }
        />
      </Card>
      <For atLeast="editor">
        <Modal open={search.new === '1'} onClose={close} title="Create link">
          <LinkForm domainId={search.domain} onDone={open} onCancel={close} />
        </Modal>
      </For>
      <Modal open={dialog === 'import'} onClose={closeDialog} title="Import links" wide>
        <LinkImport onDone={closeDialog} />
      </Modal>
    </>
  )
}

type Option = readonly [value: string, label: string]

/** All domains, and the selected one even when it was deleted. */
const domainOptions = (domains: readonly LinkDomain[], selected = ''): readonly Option[] => [
  ['', 'All domains'],
  ...domains.map(({ id, host }): Option => [id, host]),
  ...(selected === '' || domains.some(({ id }) => id === selected)
    ? []
    : [[selected, 'Other domain'] satisfies Option]),
]

const columns = (projectId: string): Column<Link>[] => [
  {
    title: 'Link',
    sort: ({ code }) => code,
    cell: ({ id, code, domain, shortUrl, destination }) => (
      <div className="flex items-center gap-3">
        <div className="max-w-[50vw] min-w-0 sm:max-w-72">
          <PageLink
            to="/p/$projectId/links/$id"
            params={{ projectId, id }}
            className="block truncate rounded font-medium hover:underline"
          >
            {domain === null ? code : `${domain}/${code}`}
          </PageLink>
          <span className="block truncate text-muted">{destination}</span>
        </div>
        <span className="max-sm:hidden">
          <CopyButton text={shortUrl} />
        </span>
      </div>
    ),
  },
  { ...statusColumn, wide: true },
  {
    title: 'Campaign',
    wide: true,
    cell: ({ campaign }) => campaign ?? '–',
    sort: ({ campaign }) => campaign,
  },
  {
    title: 'Clicks',
    align: 'right',
    cell: ({ clicks }) => formatNumber(clicks),
    sort: ({ clicks }) => clicks,
  },
  {
    title: 'Last click',
    align: 'right',
    wide: true,
    cell: ({ lastClickedAt }) => <Time at={lastClickedAt} as="ago" />,
    sort: ({ lastClickedAt }) => lastClickedAt,
  },
]
