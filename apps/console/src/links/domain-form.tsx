import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { LinkDomain } from '../api/types.ts'
import { Form, Input, TextArea } from '../ui/form.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'

/** Adds a domain, or changes what it answers without a link. */
export const DomainForm = ({
  domain,
  onDone,
  onCancel,
}: {
  domain?: LinkDomain
  onDone: (domain: LinkDomain) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const save = useChange(
    async (values: Record<string, string>): Promise<LinkDomain> => {
      const body = {
        rootUrl: values.rootUrl || null,
        notFoundUrl: values.notFoundUrl || null,
        expiredUrl: values.expiredUrl || null,
        appleAppSiteAssociation: parseFile<Record<string, unknown>>(
          values.appleAppSiteAssociation,
          'apple-app-site-association',
        ),
        assetLinks: parseFile<Record<string, unknown>[]>(values.assetLinks, 'assetlinks.json'),
      }
      if (domain)
        return unwrap(
          api.PATCH('/api/projects/{projectId}/link-domains/{id}', {
            params: { path: { projectId, id: domain.id } },
            body,
          }),
        )
      return unwrap(
        api.POST('/api/projects/{projectId}/link-domains', {
          params: { path: { projectId } },
          body: { host: values.host ?? '', ...body },
        }),
      )
    },
    { done: domain ? 'Domain saved' : 'Domain added', quiet: true, onDone },
  )
  return (
    <Form
      submit={domain ? 'Save' : 'Add domain'}
      busy={save.isPending}
      error={save.error}
      names={['host', 'rootUrl', 'notFoundUrl', 'expiredUrl', 'appleAppSiteAssociation', 'assetLinks']}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      {!domain && (
        <Input
          label="Host"
          name="host"
          required
          maxLength={253}
          placeholder="go.shop.example"
          hint="Without https:// and without a port. It cannot be changed later."
        />
      )}
      <Input
        label="Root URL"
        name="rootUrl"
        type="url"
        maxLength={2048}
        placeholder="https://shop.example/"
        defaultValue={domain?.rootUrl ?? ''}
        hint="Where / redirects to. Left empty, it answers a page, as do the next two."
      />
      <Input
        label="Not-found URL"
        name="notFoundUrl"
        type="url"
        maxLength={2048}
        defaultValue={domain?.notFoundUrl ?? ''}
        hint="Where unknown codes and paths redirect to."
      />
      <Input
        label="Expired URL"
        name="expiredUrl"
        type="url"
        maxLength={2048}
        defaultValue={domain?.expiredUrl ?? ''}
        hint="Where links redirect to that are paused, archived, expired or over their click limit."
      />
      <TextArea
        label="apple-app-site-association"
        name="appleAppSiteAssociation"
        code
        rows={3}
        defaultValue={textOf(domain?.appleAppSiteAssociation)}
        hint="JSON for apps on iOS that open the links. At most 64 KiB. Left empty, there is no such file."
      />
      <TextArea
        label="assetlinks.json"
        name="assetLinks"
        code
        rows={3}
        defaultValue={textOf(domain?.assetLinks)}
        hint="JSON for apps on Android that open the links. At most 64 KiB. Left empty, there is no such file."
      />
    </Form>
  )
}

const textOf = (file: object | null | undefined): string => (file ? JSON.stringify(file, null, 2) : '')

/** The API checks what the JSON contains. */
const parseFile = <T,>(text = '', name: string): T | null =>
  text.trim() === '' ? null : (parseEnteredJson(text, name) as T)
