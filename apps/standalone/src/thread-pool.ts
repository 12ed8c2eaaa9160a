/**
 * Threads of Node's pool, which also hash passwords, compress answers and read files. Each statement that the embedded event
 * store runs occupies one: up to five, with Node's default of four for all.
 */
const THREADS = '9'

// Read by the first work in the pool. Imported before everything that may give it some.
process.env.UV_THREADPOOL_SIZE ??= THREADS
