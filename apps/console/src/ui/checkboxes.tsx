import { Checkbox } from '@base-ui/react/checkbox'
import { Icon } from './icon.tsx'

/** Check boxes of which any number may be checked. */
export const Checkboxes = <T extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string
  options: readonly (readonly [value: T, text: string])[]
  value: readonly T[]
  onChange: (value: readonly T[]) => void
}) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="mb-1 font-medium">{label}</legend>
    {options.map(([option, text]) => (
      // biome-ignore lint/a11y/noLabelWithoutControl: the check box within is one
      <label key={option} className="flex items-center gap-2.5">
        <Checkbox.Root
          checked={value.includes(option)}
          onCheckedChange={(checked) =>
            onChange(checked ? [...value, option] : value.filter((one) => one !== option))
          }
          className="grid size-5 shrink-0 place-items-center rounded-md border border-line-strong bg-surface data-checked:border-accent data-checked:bg-accent"
        >
          <Checkbox.Indicator className="text-on-accent">
            <Icon name="check" className="size-3.5" />
          </Checkbox.Indicator>
        </Checkbox.Root>
        <span>
          {text} <code className="font-mono text-muted">{option}</code>
        </span>
      </label>
    ))}
  </fieldset>
)
