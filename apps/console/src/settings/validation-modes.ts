/** How events are checked against the catalog, as options of a field. */
export const VALIDATION_MODES = [
  ['warn', 'Warn: accept, and note'],
  ['enforce', 'Enforce: reject'],
  ['off', 'Off: do not check'],
] as const
