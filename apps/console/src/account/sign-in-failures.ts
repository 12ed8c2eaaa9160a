const FAILURES: Readonly<Record<string, string>> = {
  expired: 'This sign-in was used, took longer than 10 minutes or began in another browser. Begin again.',
  denied: 'The sign-in was refused at the provider.',
  provider_unavailable: 'The provider cannot be reached. Try again later, or use your password.',
  provider_refused:
    'The answer of the provider is not valid. Begin again; if it fails again, ask your admin.',
  rate_limited: 'Too many attempts. Try again in a minute.',
  address_not_verified: 'The provider does not report your email address as verified. Ask your admin.',
  not_a_member:
    'The provider is not linked to an account, and your address does not belong to the company. ' +
    'Sign in with your password and link it on the page Account.',
  no_role: 'You have no role in a project of the company. Ask your admin.',
  link_required:
    'Your address has an account. Sign in with your password and link the provider on the page Account.',
  registration_closed: 'New accounts are closed in this deployment. Ask its operator.',
  member_quota: 'A project has too many members. Ask your admin.',
  session_ended: 'Your session ended meanwhile. Sign in and link the provider again.',
  address_differs: 'The provider reports another email address than that of your account.',
  linked_elsewhere: 'This user of the provider is linked to another account.',
  other_user: 'You signed in at the provider as someone else.',
  not_asked_again:
    'The provider did not ask you to sign in again. Sign out there and in Waymark, then sign in with the provider.',
  linked_already: 'Another user of this provider is linked to your account. Unlink it first.',
}

/** Why a sign-in with a provider failed, as text for users. */
export const failureText = (failure: string): string =>
  FAILURES[failure] ?? 'The sign-in failed. Begin again.'
