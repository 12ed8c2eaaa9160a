import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { TYPING_PAUSE_MS } from './debounce.ts'
import { Input, Suggest } from './form.tsx'

type Props = Omit<ComponentProps<typeof Input>, 'value' | 'onChange'> & {
  value: string
  /** Receives the text when typing pauses, on Enter, and when the field loses the focus. */
  onCommit: (text: string) => void
  /** Suggestions. */
  options?: readonly string[]
}

/** A text field whose text filters a list. It follows `value`, which may change by the browser's back button. */
export const FilterInput = ({ value, onCommit, options, ...props }: Props) => {
  const [draft, setDraft] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => setDraft(value), [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const commit = (text: string) => {
    clearTimeout(timer.current)
    if (text !== value) onCommit(text)
  }
  const fields: ComponentProps<typeof Input> = {
    ...props,
    value: draft,
    onChange: ({ target }) => {
      setDraft(target.value)
      clearTimeout(timer.current)
      timer.current = setTimeout(() => commit(target.value), TYPING_PAUSE_MS)
    },
    onBlur: () => commit(draft),
    onKeyDown: ({ key }) => {
      if (key === 'Enter') commit(draft)
    },
  }
  return options ? <Suggest {...fields} options={options} /> : <Input {...fields} />
}
