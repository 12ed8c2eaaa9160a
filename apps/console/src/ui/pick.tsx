import { Autocomplete } from '@base-ui/react/autocomplete'
import { Field as BaseField } from '@base-ui/react/field'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { inputClass } from './form.tsx'

/** A text field with suggestions. It commits its text when one is selected, on Enter, and when it loses the focus. */
export const Pick = ({
  label,
  value,
  options,
  onCommit,
  onType,
  placeholder,
  hint,
  hideLabel = false,
}: {
  label: string
  value: string
  options: readonly string[]
  onCommit: (value: string) => void
  /** Receives the text while it is entered, to search for suggestions. */
  onType?: (text: string) => void
  placeholder?: string
  hint?: ReactNode
  hideLabel?: boolean
}) => {
  const [draft, setDraft] = useState(value)
  const highlighted = useRef<string>(undefined)
  useEffect(() => setDraft(value), [value])
  const commit = (text: string) => {
    const entered = text.trim()
    setDraft(entered)
    if (entered !== value) onCommit(entered)
  }
  return (
    <BaseField.Root className="flex min-w-0 flex-col gap-1">
      <BaseField.Label className={hideLabel ? 'sr-only' : 'font-medium'}>{label}</BaseField.Label>
      <Autocomplete.Root
        items={options}
        value={draft}
        // Shows all suggestions until the text changes.
        {...(draft === value && { filter: null })}
        onValueChange={(next, { reason }) => {
          setDraft(next)
          onType?.(next)
          if (reason === 'item-press') commit(next)
        }}
        onItemHighlighted={(item) => {
          highlighted.current = item
        }}
        openOnInputClick
      >
        <Autocomplete.Input
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          className={inputClass}
          onBlur={() => commit(draft)}
          onKeyDown={({ key }) => {
            if (key === 'Enter' && highlighted.current === undefined) commit(draft)
          }}
        />
        <Autocomplete.Portal>
          <Autocomplete.Positioner sideOffset={4} align="start" className="z-50">
            <Autocomplete.Popup className="max-h-72 w-(--anchor-width) min-w-48 overflow-y-auto rounded-lg border border-line bg-surface p-1 shadow-raised empty:hidden data-empty:hidden">
              <Autocomplete.List>
                {(option: string) => (
                  <Autocomplete.Item
                    key={option}
                    value={option}
                    className="cursor-pointer rounded-md px-2 py-1.5 break-words outline-none data-highlighted:bg-accent-soft data-highlighted:text-accent-text"
                  >
                    {option}
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
            </Autocomplete.Popup>
          </Autocomplete.Positioner>
        </Autocomplete.Portal>
      </Autocomplete.Root>
      {hint && <BaseField.Description className="text-muted">{hint}</BaseField.Description>}
    </BaseField.Root>
  )
}
