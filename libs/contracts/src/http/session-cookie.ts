/** The session cookie. Its prefix makes browsers require HTTPS and restrict it to this host. */
export const SESSION_COOKIE = '__Host-waymark_session'

/** The session cookie without HTTPS, on a developer's machine. */
export const LOCAL_SESSION_COOKIE = 'waymark_session'
