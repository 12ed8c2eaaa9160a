// Paths of Lucide icons (ISC licence); the package itself is 50 MB.
const PATHS = {
  home: ['M3 10.5 12 3l9 7.5', 'M5 9v12h14V9', 'M9.5 21v-7h5v7'],
  live: ['M4 12h3l3 8 4-16 3 8h3'],
  web: [
    'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18',
    'M3 12h18',
    'M12 3a14 14 0 0 1 0 18',
    'M12 3a14 14 0 0 0 0 18',
  ],
  explore: ['M3 3v18h18', 'M8 17v-5', 'M13 17V8', 'M18 17v-8'],
  dashboards: ['M4 4h7v9H4z', 'M13 4h7v5h-7z', 'M13 11h7v9h-7z', 'M4 15h7v5H4z'],
  alerts: ['M6 8a6 6 0 0 1 12 0c0 7 3 9 3 9H3s3-2 3-9', 'M10.3 21a2 2 0 0 0 3.400 0'],
  people: [
    'M16 21v-2a4 4 0 0 0-4-4H6a4 4 0 0 0-4 4v2',
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8',
    'M22 21v-2a4 4 0 0 0-3-3.87',
    'M16 3.13a4 4 0 0 1 0 7.75',
  ],
  catalog: ['M4 19.5V5a2 2 0 0 1 2-2h14v18H6a2 2 0 0 1-2-1.500', 'M4 19a2 2 0 0 1 2-2h14', 'M9 7h7'],
  links: [
    'M10 13a5 5 0 0 0 7.54.54l3-3a5 5 0 0 0-7.07-7.07l-1.72 1.71',
    'M14 11a5 5 0 0 0-7.54-.54l-3 3a5 5 0 0 0 7.07 7.07l1.71-1.71',
  ],
  coupons: [
    'M3 9a3 3 0 0 0 0 6v3a1 1 0 0 0 1 1h16a1 1 0 0 0 1-1v-3a3 3 0 0 1 0-6V6a1 1 0 0 0-1-1H4a1 1 0 0 0-1 1z',
    'M9.500 9.500h.01',
    'M14.500 14.500h.01',
    'm9.500 14.500 5-5',
  ],
  decisions: [
    'M6 3v12',
    'M18 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6',
    'M6 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6',
    'M18 9a9 9 0 0 1-9 9',
  ],
  email: ['M3 5h18v14H3z', 'm3 6 9 7 9-7'],
  health: [
    'M20.4 5.6a5.5 5.5 0 0 0-7.8 0L12 6.2l-.6-.6a5.5 5.5 0 0 0-7.8 7.8L12 21.800l8.400-8.400a5.500 5.500 0 0 0 0-7.800',
    'M4 12h4l2-4 3 7 2-3h5',
  ],
  settings: [
    'M4 21v-7',
    'M4 10V3',
    'M12 21v-9',
    'M12 8V3',
    'M20 21v-5',
    'M20 12V3',
    'M1 14h6',
    'M9 8h6',
    'M17 16h6',
  ],
  check: ['m5 12.500 4.500 4.500L19 7.500'],
  x: ['M18 6 6 18', 'm6 6 12 12'],
  alert: ['M12 8v5', 'M12 16.500h.01', 'M12 22a10 10 0 1 0 0-20 10 10 0 0 0 0 20'],
  plus: ['M12 5v14', 'M5 12h14'],
  copy: ['M9 9h11v11H9z', 'M5 15H4V4h11v1'],
  search: ['M11 19a8 8 0 1 0 0-16 8 8 0 0 0 0 16', 'm21 21-4.300-4.300'],
  chevron: ['m6 9 6 6 6-6'],
  right: ['m9 6 6 6-6 6'],
  left: ['M19 12H5', 'm12 19-7-7 7-7'],
  sort: ['m7 15 5 5 5-5', 'm7 9 5-5 5 5'],
  up: ['m6 15 6-6 6 6'],
  menu: ['M4 6h16', 'M4 12h16', 'M4 18h16'],
  sun: [
    'M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10',
    'M12 1v2',
    'M12 21v2',
    'm4.220 4.220 1.420 1.420',
    'm18.360 18.360 1.420 1.420',
    'M1 12h2',
    'M21 12h2',
    'm4.220 19.780 1.420-1.420',
    'm18.360 5.640 1.420-1.420',
  ],
  moon: ['M21 12.800A9 9 0 1 1 11.200 3a7 7 0 0 0 9.800 9.800z'],
  pause: ['M7 5v14', 'M17 5v14'],
  play: ['m7 4 13 8-13 8z'],
  download: ['M12 3v13', 'm7 11 5 5 5-5', 'M4 21h16'],
  upload: ['M12 16V3', 'm7 8 5-5 5 5', 'M4 21h16'],
  trash: ['M4 7h16', 'M9 7V4h6v3', 'M6 7l1 14h10l1-14', 'M10 11v6', 'M14 11v6'],
  refresh: ['M21 12a9 9 0 1 1-2.640-6.360L21 8', 'M21 3v5h-5'],
  external: ['M14 4h6v6', 'M20 4 11 13', 'M18 14v6H4V6h6'],
  user: ['M20 21a8 8 0 0 0-16 0', 'M12 13a5 5 0 1 0 0-10 5 5 0 0 0 0 10'],
  key: [
    'M15.500 7.500 19 4',
    'M21 2l-9.600 9.600',
    'M7.500 21a5.500 5.500 0 1 0 0-11 5.500 5.500 0 0 0 0 11',
  ],
} as const

export type IconName = keyof typeof PATHS

/** An icon beside a text with the same meaning, hidden from screen readers. */
export const Icon = ({ name, className = '' }: { name: IconName; className?: string }) => (
  <svg
    aria-hidden="true"
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
    strokeLinejoin="round"
    className={`size-4 shrink-0 ${className}`}
  >
    {PATHS[name].map((d) => (
      <path key={d} d={d} />
    ))}
  </svg>
)
