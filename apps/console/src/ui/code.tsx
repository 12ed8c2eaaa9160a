import { useState } from 'react'
import { Button } from './button.tsx'
import { toasts } from './toasts.tsx'

export const CopyButton = ({
  text,
  label = 'Copy',
  small = true,
}: {
  text: string
  label?: string
  small?: boolean
}) => {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      setTimeout(() => setCopied(false), 2000)
    } catch {
      toasts.add({ title: 'The browser did not allow copying', description: text, type: 'error' })
    }
  }
  return (
    <Button small={small} icon={copied ? 'check' : 'copy'} onClick={() => void copy()}>
      {copied ? 'Copied' : label}
    </Button>
  )
}

/** Preformatted text with a button to copy it. */
export const CodeBlock = ({ text, label, copy = true }: { text: string; label: string; copy?: boolean }) => (
  <div className="min-w-0 rounded-lg border border-line bg-code text-left">
    {copy && (
      <div className="flex justify-end px-1.5 pt-1.5">
        <CopyButton text={text} />
      </div>
    )}
    <section tabIndex={0} aria-label={label} className="max-h-96 overflow-auto rounded-lg">
      <pre className="w-max min-w-full p-3 font-mono text-[0.89rem] leading-relaxed text-text">{text}</pre>
    </section>
  </div>
)

export const Json = ({ value, label }: { value: unknown; label: string }) => (
  <CodeBlock label={label} text={JSON.stringify(value, null, 2)} />
)
