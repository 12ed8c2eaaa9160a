import type { Static, TObject } from 'typebox'

/**
 * The members of a row that an answer shows. A column that is added later is not shown until the schema of the answer
 * declares it. Members that the schema has and the row lacks are left out.
 */
export const pick = <S extends TObject, Row extends object>(
  row: Row,
  { properties }: S,
): Pick<Row, keyof Static<S> & keyof Row> =>
  Object.fromEntries(Object.entries(row).filter(([name]) => Object.hasOwn(properties, name))) as Pick<
    Row,
    keyof Static<S> & keyof Row
  >
