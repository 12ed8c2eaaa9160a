/** The cookie that carries a session. The prefix makes browsers insist on HTTPS and on this host alone. */
export const SESSION_COOKIE = '__Host-waymark_session'

/** The same where there is no HTTPS: on the developer's own machine. */
export const LOCAL_SESSION_COOKIE = 'waymark_session'
