/** The logo. */
export const Logo = ({ className = 'size-8' }: { className?: string }) => (
  <svg aria-hidden="true" viewBox="0 0 32 32" className={`shrink-0 ${className}`}>
    <rect width="32" height="32" rx="8" fill="#0f766e" />
    <path
      d="M7 10l4.500 12L16 12l4.500 10L25 10"
      fill="none"
      stroke="#fff"
      strokeWidth="3"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  </svg>
)
