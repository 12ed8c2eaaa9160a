import type { Link } from '../api/types.ts'
import { Button } from '../ui/button.tsx'
import { Input } from '../ui/form.tsx'
import { formatPercent } from '../ui/format.tsx'

const MAX_VARIANTS = 10

/** A variant as it is edited, with an id that stays when others are removed. */
export type EditedVariant = { id: number; key: string; destination: string; weight: string }

export const editedVariants = (variants: Link['variants'] = []): EditedVariant[] =>
  variants.map(({ key, destination, weight }, id) => ({ id, key, destination, weight: `${weight}` }))

export const variantsOf = (edited: readonly EditedVariant[]): Link['variants'] =>
  edited.map(({ key, destination, weight }) => ({ key, destination, weight: Number(weight) }))

/** The fields of the destinations among which visitors are split. */
export const VariantFields = ({
  variants,
  onChange,
}: {
  variants: readonly EditedVariant[]
  onChange: (variants: EditedVariant[]) => void
}) => {
  const total = variants.reduce((sum, { weight }) => sum + Number(weight), 0)
  const change = (id: number, values: Partial<EditedVariant>) =>
    onChange(variants.map((variant) => (variant.id === id ? { ...variant, ...values } : variant)))
  const add = () => {
    const id = Math.max(-1, ...variants.map((variant) => variant.id)) + 1
    onChange([...variants, { id, key: '', destination: '', weight: '1' }])
  }
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="mb-2 font-medium text-muted">
        Variants: destinations among which visitors are split by weight
      </legend>
      {variants.map(({ id, key, destination, weight }, index) => (
        <div key={id} className="grid items-end gap-2 sm:grid-cols-[7rem_1fr_6rem_auto]">
          <Input
            label={`Key of variant ${index + 1}`}
            value={key}
            required
            maxLength={40}
            pattern="[A-Za-z0-9_\-]+"
            title="Letters, digits, _ and -"
            onChange={(event) => change(id, { key: event.target.value })}
          />
          <Input
            label={`Destination of variant ${index + 1}`}
            type="url"
            value={destination}
            required
            maxLength={2048}
            onChange={(event) => change(id, { destination: event.target.value })}
          />
          <Input
            label={`Weight of variant ${index + 1}`}
            type="number"
            min={0}
            max={10_000}
            required
            value={weight}
            onChange={(event) => change(id, { weight: event.target.value })}
          />
          <Button
            aria-label={`Remove variant ${index + 1}`}
            onClick={() => onChange(variants.filter((variant) => variant.id !== id))}
          >
            Remove
          </Button>
        </div>
      ))}
      {total > 0 && (
        <p className="text-muted">
          {variants
            .map(({ key, weight }) => `${key || '…'} ${formatPercent(Number(weight) / total)}`)
            .join(', ')}
        </p>
      )}
      <div>
        <Button icon="plus" onClick={add} disabled={variants.length >= MAX_VARIANTS}>
          Add variant
        </Button>
      </div>
    </fieldset>
  )
}
