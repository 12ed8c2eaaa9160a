import { useIsShared } from '../api/shared.ts'

/** A number that opens the list of its people, unless the page shows none. */
export const ShowPeople = ({ text, onClick }: { text: string; onClick: () => void }) => {
  if (useIsShared()) return <span className="tabular-nums">{text}</span>
  return (
    <button
      type="button"
      onClick={onClick}
      title="Show the people"
      aria-label={`${text}, show the people`}
      className="rounded tabular-nums underline decoration-line-strong underline-offset-3 hover:text-accent-text hover:decoration-accent"
    >
      {text}
    </button>
  )
}
