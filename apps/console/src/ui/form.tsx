import { Field as BaseField } from '@base-ui/react/field'
import { Form as BaseForm } from '@base-ui/react/form'
import { Switch as BaseSwitch } from '@base-ui/react/switch'
import { type ComponentProps, type ReactNode, useMemo, useState } from 'react'
import { ApiError, messageOf } from '../api/client.ts'
import { Button } from './button.tsx'
import { localZone } from './local-zone.ts'
import { Notice } from './states.tsx'

const CONTROL =
  'w-full rounded-lg border border-line-strong bg-surface text-text shadow-card outline-offset-0 disabled:opacity-60 data-invalid:border-danger'
/** The styles of single-line fields. */
export const inputClass = `${CONTROL} h-9 px-2.5`

/** The names of fields and their errors from the API. */
const fieldErrors = (error: unknown): Record<string, string[]> => {
  if (!(error instanceof ApiError)) return {}
  const byField: Record<string, string[]> = {}
  for (const { field, message } of error.problems) {
    const name = field.replace(/^\//, '').split(/[/.]/)[0] ?? ''
    byField[name] = [...(byField[name] ?? []), message]
  }
  return byField
}

const NO_ERRORS = {}

/** A form that shows errors of the API next to their fields, and other errors at its end. */
export const Form = ({
  onSubmit,
  submit,
  busy = false,
  error,
  children,
  onCancel,
  onEdit,
  names = [],
}: {
  /** Receives the values of the fields by name, and the form. */
  onSubmit: (values: Record<string, string>, form: HTMLFormElement) => void
  /** The label of the button; none for a form that the user may only read. */
  submit: string | undefined
  busy?: boolean
  error?: unknown
  children: ReactNode
  onCancel?: () => void
  /** Called whenever the user changes a field. */
  onEdit?: () => void
  /** Fields that show their own errors. */
  names?: readonly string[]
}) => {
  const errors = useMemo(() => fieldErrors(error), [error])
  const [edited, setEdited] = useState<unknown>()
  const shown = Object.keys(errors).length > 0 && Object.keys(errors).every((name) => names.includes(name))
  return (
    <BaseForm
      // A field with an error cannot be submitted. Its error may be about another field, so any edit removes it.
      errors={edited === error ? NO_ERRORS : errors}
      onInput={() => {
        setEdited(error)
        onEdit?.()
      }}
      onSubmit={(event) => {
        event.preventDefault()
        const entries = [...new FormData(event.currentTarget)].map(([name, value]) => [name, `${value}`])
        onSubmit(Object.fromEntries(entries), event.currentTarget)
      }}
      className="flex flex-col gap-4"
    >
      {children}
      {error != null && !shown && <Notice tone="danger">{messageOf(error)}</Notice>}
      <div className="flex flex-wrap justify-end gap-2">
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        {submit && (
          <Button type="submit" look="primary" busy={busy}>
            {submit}
          </Button>
        )}
      </div>
    </BaseForm>
  )
}

type FieldProps = {
  label: string
  name?: string
  hint?: ReactNode
  className?: string
  /** Whether only screen readers read the label. */
  hideLabel?: boolean
}

const Labelled = ({
  label,
  name,
  hint,
  className = '',
  hideLabel = false,
  children,
}: FieldProps & { children: ReactNode }) => (
  <BaseField.Root {...(name && { name })} className={`flex min-w-0 flex-col gap-1 ${className}`}>
    <BaseField.Label className={hideLabel ? 'sr-only' : 'font-medium'}>{label}</BaseField.Label>
    {children}
    {hint && <BaseField.Description className="text-muted">{hint}</BaseField.Description>}
    <BaseField.Error className="text-danger" />
  </BaseField.Root>
)

type InputProps = FieldProps & Omit<ComponentProps<'input'>, 'name' | 'className'>

export const Input = ({ label, name, hint, className, hideLabel, ...props }: InputProps) => (
  <Labelled {...({ label, hint, className, hideLabel, name } as FieldProps)}>
    <BaseField.Control autoComplete="off" {...(props as object)} className={inputClass} />
  </Labelled>
)

/** A text field with a list of suggestions. */
export const Suggest = ({ options, ...props }: InputProps & { options: readonly string[] }) => {
  const id = `options-${props.name ?? props.label}`.replaceAll(/\W/g, '-')
  return (
    <>
      <Input {...props} list={id} />
      <datalist id={id}>
        {options.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </>
  )
}

type NumberProps = Omit<InputProps, 'value' | 'type' | 'onChange' | 'onBlur'> & {
  value: number | undefined
  onCommit: (value: number) => void
  /** Whether a number is committed; all are without it. */
  fits?: (value: number) => boolean
}

/** A field for a number, which is committed as it is typed. Until the field loses the focus, it may be empty. */
export const NumberInput = ({ value, onCommit, fits = () => true, ...props }: NumberProps) => {
  const [draft, setDraft] = useState<string>()
  return (
    <Input
      required
      {...props}
      type="number"
      value={draft ?? value}
      onChange={({ target }) => {
        setDraft(target.value)
        if (target.value !== '' && fits(Number(target.value))) onCommit(Number(target.value))
      }}
      onBlur={() => setDraft(undefined)}
    />
  )
}

/** A field for a whole number, which is committed whenever it is valid. */
export const IntegerInput = (props: Omit<NumberProps, 'fits'> & { min: number; max: number }) => (
  <NumberInput
    {...props}
    fits={(value) => Number.isInteger(value) && value >= props.min && value <= props.max}
  />
)

type TextAreaProps = FieldProps & Omit<ComponentProps<'textarea'>, 'name' | 'className'> & { code?: boolean }

export const TextArea = ({
  label,
  name,
  hint,
  className,
  hideLabel,
  code = false,
  ...props
}: TextAreaProps) => (
  <Labelled {...({ label, hint, className, hideLabel, name } as FieldProps)}>
    <BaseField.Control
      render={<textarea spellCheck={!code} {...props} />}
      {...(props.defaultValue !== undefined && { defaultValue: props.defaultValue as string })}
      className={`${CONTROL} min-h-20 px-2.5 py-2 ${code ? 'font-mono text-[0.93rem]' : ''}`}
    />
  </Labelled>
)

type SelectProps = FieldProps &
  Omit<ComponentProps<'select'>, 'name' | 'className'> & {
    options: readonly (readonly [value: string, label: string])[]
  }

/** A select of few options. It is the browser's own, which works well on every device. */
export const Select = ({ label, name, hint, className, hideLabel, options, ...props }: SelectProps) => (
  <Labelled {...({ label, hint, className, hideLabel, name } as FieldProps)}>
    <BaseField.Control
      render={
        <select {...props}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      }
      {...(props.defaultValue !== undefined && { defaultValue: props.defaultValue as string })}
      className={`${inputClass} pr-7`}
    />
  </Labelled>
)

/** A switch. */
export const Switch = ({
  label,
  hint,
  checked,
  onChange,
  disabled = false,
  busy = false,
}: {
  label: string
  hint?: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
  disabled?: boolean
  /** Whether its change is being saved. It then keeps the focus. */
  busy?: boolean
}) => (
  <BaseField.Root className="flex flex-col gap-1">
    <BaseField.Label className="flex items-center gap-2.5 font-medium">
      <BaseSwitch.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        readOnly={busy}
        className="flex h-5 w-9 shrink-0 rounded-full bg-line-strong p-0.5 transition-colors data-checked:bg-accent data-disabled:opacity-50 data-readonly:opacity-50"
      >
        <BaseSwitch.Thumb className="size-4 rounded-full bg-surface shadow-card transition-transform data-checked:translate-x-4" />
      </BaseSwitch.Root>
      {label}
    </BaseField.Label>
    {hint && <BaseField.Description className="pl-11 text-muted">{hint}</BaseField.Description>}
  </BaseField.Root>
)

/** The hint of a field for a local date and time. */
export const LOCAL_TIME_HINT = `Time zone ${localZone()}`

/** A local date and time for `<input type="datetime-local">`, from RFC 3339; empty for null. */
export const toLocalInput = (at: string | null | undefined): string => {
  if (!at) return ''
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The RFC 3339 time of an `<input type="datetime-local">`; null when it is empty. */
export const fromLocalInput = (text: string | undefined): string | null =>
  text ? new Date(text).toISOString() : null

/** The time of an edited field. One that was left as it is stays `before`, whose seconds the field does not show. */
export const editedTime = (text: string | undefined, before: string | null | undefined): string | null =>
  text === toLocalInput(before) ? (before ?? null) : fromLocalInput(text)

const decoded = async (file: ArrayBuffer): Promise<string> => {
  const { decodeText } = await import('@waymark/domain/table')
  return decodeText(new Uint8Array(file))
}

/** Reads a CSV or text file of the user, in any encoding of spreadsheets. */
export const CsvFileInput = ({ label, onText }: { label: string; onText: (text: string) => void }) => (
  <label className="flex flex-col gap-1 font-medium">
    {label}
    <input
      type="file"
      accept=".csv,text/csv,text/plain"
      className="font-normal file:mr-3 file:h-9 file:rounded-lg file:border file:border-line-strong file:bg-surface file:px-3 file:text-text"
      onChange={(event) => void event.target.files?.[0]?.arrayBuffer().then(decoded).then(onText)}
    />
  </label>
)
