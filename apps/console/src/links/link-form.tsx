import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Link } from '../api/types.ts'
import { editedTime, Form, Input, LOCAL_TIME_HINT, Select, Switch, toLocalInput } from '../ui/form.tsx'
import { CardFields, cardIn } from './card-fields.tsx'
import { useLinkDomains } from './use-link-domains.ts'
import { utmOf } from './utm-fields.ts'
import { editedVariants, VariantFields, variantsOf } from './variant-fields.tsx'

const splitTags = (text = ''): string[] => [
  ...new Set(
    text
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
]

/** The fields that show their own errors. */
const NAMES = [
  'destination',
  'domainId',
  'code',
  'campaign',
  'tags',
  'clickLimit',
  'expiresAt',
  'expiredUrl',
  'password',
  'og',
]

/** Creates a link, or changes one. */
export const LinkForm = ({
  link,
  domainId = '',
  onDone,
  onCancel,
}: {
  link?: Link
  /** The domain that is selected for a new link. */
  domainId?: string | undefined
  onDone: (link: Link) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const domains = useLinkDomains()
  const [forwardQuery, setForwardQuery] = useState(link?.forwardQuery ?? false)
  const [variants, setVariants] = useState(() => editedVariants(link?.variants))
  const [removesPassword, setRemovesPassword] = useState(false)
  const save = useChange(
    async (values: Record<string, string>): Promise<Link> => {
      const body = {
        destination: values.destination ?? '',
        campaign: values.campaign || null,
        tags: splitTags(values.tags),
        utm: utmOf(values, link?.utm),
        forwardQuery,
        expiresAt: editedTime(values.expiresAt, link?.expiresAt),
        clickLimit: values.clickLimit ? Number(values.clickLimit) : null,
        expiredUrl: values.expiredUrl || null,
        og: cardIn(values),
        variants: variantsOf(variants),
        // An empty field keeps the password.
        ...(removesPassword ? { password: null } : values.password && { password: values.password }),
      }
      if (link)
        return unwrap(
          api.PATCH('/api/projects/{projectId}/links/{id}', {
            params: { path: { projectId, id: link.id } },
            body,
          }),
        )
      return unwrap(
        api.POST('/api/projects/{projectId}/links', {
          params: { path: { projectId } },
          body: {
            ...body,
            ...(values.code && { code: values.code }),
            ...(values.domainId && { domainId: values.domainId }),
          },
        }),
      ) as Promise<Link>
    },
    { done: link ? 'Link saved' : 'Link created', quiet: true, onDone },
  )
  return (
    <Form
      submit={link ? 'Save' : 'Create link'}
      busy={save.isPending}
      error={save.error}
      names={NAMES}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <Input
        label="Destination"
        name="destination"
        type="url"
        required
        placeholder="https://shop.example/sale"
        maxLength={2048}
        defaultValue={link?.destination}
      />
      {!link && domains.length > 0 && (
        <Select
          label="Domain"
          name="domainId"
          hint="It cannot be changed later."
          defaultValue={domainId}
          options={[
            ['', 'This installation'],
            ...domains.map(
              ({ id, host, verifiedAt }) => [id, verifiedAt ? host : `${host} (not verified)`] as const,
            ),
          ]}
        />
      )}
      {!link && (
        <Input
          label="Code"
          name="code"
          hint="The end of the short URL. Left empty, one is chosen."
          maxLength={200}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Input label="Campaign" name="campaign" maxLength={200} defaultValue={link?.campaign ?? ''} />
        <Input
          label="Tags"
          name="tags"
          placeholder="newsletter, autumn"
          defaultValue={link?.tags.join(', ')}
        />
        <Input
          label="Expires"
          name="expiresAt"
          type="datetime-local"
          hint={LOCAL_TIME_HINT}
          defaultValue={toLocalInput(link?.expiresAt)}
        />
        <Input
          label="Click limit"
          name="clickLimit"
          type="number"
          min={1}
          defaultValue={link?.clickLimit ?? ''}
        />
      </div>
      <Input
        label="Expired URL"
        name="expiredUrl"
        type="url"
        maxLength={2048}
        defaultValue={link?.expiredUrl ?? ''}
        hint="Where it redirects to when it is paused, archived, expired or over its click limit. Left empty, the address of its domain is used, or a page."
      />
      {!removesPassword && (
        <Input
          label={link?.hasPassword ? 'New password' : 'Password'}
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={4}
          maxLength={128}
          hint={
            link?.hasPassword
              ? 'Visitors have to give a password. Left empty, it stays the same.'
              : 'Visitors have to give it before they are redirected. It is not shown again.'
          }
        />
      )}
      {link?.hasPassword && (
        <Switch label="Remove the password" checked={removesPassword} onChange={setRemovesPassword} />
      )}
      <fieldset className="grid gap-4 sm:grid-cols-3">
        <legend className="mb-2 font-medium text-muted">UTM parameters to add to the destination</legend>
        <Input label="Source" name="utm-source" defaultValue={link?.utm.source} />
        <Input label="Medium" name="utm-medium" defaultValue={link?.utm.medium} />
        <Input label="UTM campaign" name="utm-campaign" defaultValue={link?.utm.campaign} />
      </fieldset>
      <VariantFields variants={variants} onChange={setVariants} />
      <CardFields card={link?.og} />
      <Switch label="Pass on the query of the short URL" checked={forwardQuery} onChange={setForwardQuery} />
    </Form>
  )
}
