type Write = (details: object, message: string) => void

/** Where parts below the services write their log lines; pino fits. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write }
