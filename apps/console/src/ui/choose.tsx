import { Combobox } from '@base-ui/react/combobox'
import { Field as BaseField } from '@base-ui/react/field'
import { inputClass } from './form.tsx'

/** A value and its label. */
export type Choice = readonly [value: string, label: string]

/** A field for one of many choices, which are searched by typing. Text that is not a choice is not kept. */
export const Choose = ({
  label,
  value,
  choices,
  onChange,
  placeholder,
  className = '',
}: {
  label: string
  /** Empty when nothing is chosen. */
  value: string
  choices: readonly Choice[]
  onChange: (value: string) => void
  /** Shown while nothing is chosen. */
  placeholder: string
  className?: string
}) => {
  // A value that is not among the choices, such as one that was deleted, is shown as it is.
  const chosen: Choice | null =
    value === '' ? null : (choices.find(([one]) => one === value) ?? [value, value])
  return (
    <BaseField.Root className={`flex min-w-0 flex-col gap-1 ${className}`}>
      <BaseField.Label className="font-medium">{label}</BaseField.Label>
      <Combobox.Root<Choice>
        items={choices}
        value={chosen}
        itemToStringLabel={([, text]) => text}
        isItemEqualToValue={([one], [other]) => one === other}
        onValueChange={(choice) => onChange(choice?.[0] ?? '')}
        autoHighlight
      >
        <Combobox.Input
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          className={inputClass}
        />
        <Combobox.Portal>
          <Combobox.Positioner sideOffset={4} align="start" className="z-50">
            <Combobox.Popup className="max-h-72 w-(--anchor-width) min-w-48 overflow-y-auto rounded-lg border border-line bg-surface p-1 shadow-raised">
              <Combobox.Empty className="px-2 py-1.5 text-muted empty:hidden">Nothing found</Combobox.Empty>
              <Combobox.List>
                {(choice: Choice) => (
                  <Combobox.Item
                    key={choice[0]}
                    value={choice}
                    className="cursor-pointer rounded-md px-2 py-1.5 break-words outline-none data-highlighted:bg-accent-soft data-highlighted:text-accent-text"
                  >
                    {choice[1]}
                  </Combobox.Item>
                )}
              </Combobox.List>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
    </BaseField.Root>
  )
}
