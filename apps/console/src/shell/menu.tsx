import { Menu as BaseMenu } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'

const ITEM =
  'flex w-full items-center gap-2.5 rounded-md px-2.5 py-1.5 text-left outline-none select-none data-highlighted:bg-subtle'

/** A menu that opens below its trigger. */
export const Menu = ({ trigger, children }: { trigger: ReactElement; children: ReactNode }) => (
  <BaseMenu.Root>
    <BaseMenu.Trigger render={trigger} />
    <BaseMenu.Portal>
      <BaseMenu.Positioner sideOffset={6} align="start" className="z-40">
        <BaseMenu.Popup className="max-h-[70dvh] max-w-[90vw] min-w-56 overflow-y-auto rounded-xl border border-line bg-surface p-1.5 shadow-raised outline-none">
          {children}
        </BaseMenu.Popup>
      </BaseMenu.Positioner>
    </BaseMenu.Portal>
  </BaseMenu.Root>
)

export const MenuItem = ({ children, onClick }: { children: ReactNode; onClick: () => void }) => (
  <BaseMenu.Item className={`${ITEM} cursor-pointer`} onClick={onClick}>
    {children}
  </BaseMenu.Item>
)

export const MenuLine = () => <BaseMenu.Separator className="my-1.5 h-px bg-line" />

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <div className="px-2.5 py-1 text-muted">{children}</div>
)
