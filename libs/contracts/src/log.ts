type Write = (details: object, message: string) => void

/** A logger for packages below the services; pino is compatible. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write }
