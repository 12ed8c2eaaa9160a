import type { IconName } from '../ui/icon.tsx'

/** The pages of a project, in the order of the navigation. */
export const PAGES = [
  { title: 'Home', to: '/p/$projectId', icon: 'home' },
  { title: 'Live', to: '/p/$projectId/live', icon: 'live' },
  { title: 'Web', to: '/p/$projectId/web', icon: 'web' },
  { title: 'Explore', to: '/p/$projectId/explore', icon: 'explore' },
  { title: 'Dashboards', to: '/p/$projectId/dashboards', icon: 'dashboards' },
  { title: 'Alerts', to: '/p/$projectId/alerts', icon: 'alerts' },
  { title: 'People', to: '/p/$projectId/people', icon: 'people' },
  { title: 'Catalog', to: '/p/$projectId/catalog', icon: 'catalog' },
  { title: 'Links', to: '/p/$projectId/links', icon: 'links' },
  { title: 'Coupons', to: '/p/$projectId/coupons', icon: 'coupons' },
  { title: 'Decisions', to: '/p/$projectId/decisions', icon: 'decisions' },
  { title: 'Email', to: '/p/$projectId/email', icon: 'email' },
  { title: 'Health', to: '/p/$projectId/health', icon: 'health' },
  { title: 'Settings', to: '/p/$projectId/settings', icon: 'settings' },
] as const satisfies readonly { title: string; to: string; icon: IconName }[]
