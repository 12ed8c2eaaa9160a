export { COUPON_COLUMNS, GIFT_CARD_COLUMNS, LINK_COLUMNS, type TableColumns } from './columns.ts'
export { decodeText, encodingOf, type TextEncoding } from './encoding.ts'
export { CSV_OPTIONS, layoutOf, SAMPLE_LENGTH, type TableLayout, type TableProblem } from './layout.ts'
export { readTable, type TableRow } from './read-table.ts'
