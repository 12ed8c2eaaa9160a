/** The session cookie. Its prefix makes browsers require HTTPS and restrict it to this host. */
export const SESSION_COOKIE = '__Host-waymark_session'

/** The cookie of a browser whose sign-in waits for the second factor. */
export const CHALLENGE_COOKIE = '__Host-waymark_challenge'

/** The same without HTTPS, on a developer's machine. */
export const LOCAL_CHALLENGE_COOKIE = 'waymark_challenge'

/** The session cookie without HTTPS, on a developer's machine. */
export const LOCAL_SESSION_COOKIE = 'waymark_session'

/** The cookie of a browser that is at an OIDC provider. */
export const SIGN_IN_COOKIE = '__Host-waymark_sign_in'

/** The same without HTTPS, on a developer's machine. */
export const LOCAL_SIGN_IN_COOKIE = 'waymark_sign_in'
