import { useNavigate } from '@tanstack/react-router'
import { useAccount } from '../api/session.ts'
import { useSignOut } from '../shell/sign-out.ts'
import { AccountFrame, linkClass } from './frame.tsx'
import { SecondFactorSetUp } from './second-factor-set-up.tsx'

/** Shown instead of a project whose company requires a second factor that the user has not. */
export const RequiredSecondFactor = () => {
  const navigate = useNavigate()
  const signOut = useSignOut()
  const account = useAccount()
  const open = account?.projects.find(({ id }) => !account.closedProjectIds.includes(id))
  return (
    <AccountFrame
      title="Set up a second factor"
      foot={
        <>
          {open && (
            <>
              <button
                type="button"
                className={linkClass}
                onClick={() => void navigate({ to: '/p/$projectId', params: { projectId: open.id } })}
              >
                Open {open.name} instead
              </button>
              <br />
            </>
          )}
          <button type="button" className={linkClass} onClick={() => void signOut()}>
            Sign out
          </button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <p className="font-medium">Your company requires it to open the project.</p>
        <SecondFactorSetUp onDone={() => void navigate({ to: '/' })} />
      </div>
    </AccountFrame>
  )
}
