export { EVENT_COLUMNS, type EventColumns } from './columns.ts'
export { writeParquet } from './parquet.ts'
export { csvField, writeCsv, writeJsonLines } from './text.ts'
