import { useState } from 'react'
import type { Link } from '../api/types.ts'
import { Input, TextArea } from '../ui/form.tsx'

type LinkCard = NonNullable<Link['og']>

/** The field of the title shows the errors of the whole card. */
const TITLE = 'og'

/** The fields of a preview card, and how it looks. */
export const CardFields = ({ card }: { card: LinkCard | null | undefined }) => {
  const [title, setTitle] = useState(card?.title ?? '')
  const [description, setDescription] = useState(card?.description ?? '')
  const [image, setImage] = useState(card?.image ?? '')
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="mb-2 font-medium text-muted">
        Preview card that messengers and social networks show
      </legend>
      <Input
        label="Card title"
        name={TITLE}
        maxLength={200}
        value={title}
        onChange={(event) => setTitle(event.target.value)}
        required={description !== '' || image !== ''}
        hint="Left empty, they show what the destination says."
      />
      <TextArea
        label="Card description"
        name="og-description"
        maxLength={500}
        rows={2}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
      <Input
        label="Card image"
        name="og-image"
        type="url"
        pattern="https://.*"
        title="An address that begins with https://"
        maxLength={2048}
        value={image}
        onChange={(event) => setImage(event.target.value)}
        placeholder="https://shop.example/sale.png"
      />
      {title !== '' && (
        <figure
          aria-label="Preview of the card"
          className="max-w-96 overflow-hidden rounded-lg border border-line"
        >
          {image !== '' && (
            <p className="bg-subtle px-3 py-6 text-center text-muted wrap-anywhere">Image: {image}</p>
          )}
          <figcaption className="px-3 py-2">
            <p className="font-semibold wrap-anywhere">{title}</p>
            {description !== '' && <p className="text-muted wrap-anywhere">{description}</p>}
          </figcaption>
        </figure>
      )}
    </fieldset>
  )
}

/** The card in the values of a form; null without a title. */
export const cardIn = (values: Record<string, string>): LinkCard | null => {
  const { [TITLE]: title, 'og-image': image } = values
  // The API refuses line breaks.
  const description = values['og-description']?.replace(/\s+/g, ' ').trim()
  return title ? { title, ...(description && { description }), ...(image && { image }) } : null
}
